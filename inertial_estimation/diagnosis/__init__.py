"""What is wrong with the data or the description of a robot: one table of windows, hypotheses, their evidence."""
