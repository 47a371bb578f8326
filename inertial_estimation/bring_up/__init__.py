"""Checks of a whole recording during the bring-up of a robot: what is wrong, where, and what mends it."""
