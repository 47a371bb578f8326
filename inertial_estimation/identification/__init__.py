"""Offline identification of inertial parameters and friction; excitation design."""
