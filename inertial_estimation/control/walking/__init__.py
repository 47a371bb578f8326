"""Walking: feet, steps, gait."""
