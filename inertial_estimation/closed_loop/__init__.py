"""Estimators, controller and simulation in one process."""
