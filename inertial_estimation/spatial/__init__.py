"""Rotations and inertial parameters: the mathematics without a robot."""
