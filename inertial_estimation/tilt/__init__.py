"""Orientation, velocity and position of the base of a legged robot."""
