"""From the description of a robot to its first parameter file."""
