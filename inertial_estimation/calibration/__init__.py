"""Kinematic calibration: joint offsets from constraints that are easily enforced."""
