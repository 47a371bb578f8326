"""Simulated robots with contact physics, sensors, disturbances and ground truth."""
