"""Rotations, inertial parameters and linear algebra; the mathematics that needs no robot model."""
