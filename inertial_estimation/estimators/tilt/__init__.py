"""Estimation of base orientation and velocity: tilt observers, contact selection, gyroscope bias."""
