"""Kinematic calibration: joint offsets from easily enforced constraints."""
