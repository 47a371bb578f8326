"""Checks of measured data against the robot's description: signs, units, order, weight, rates."""
