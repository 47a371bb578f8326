"""What is wrong with the data or the description of a robot: one table, hypotheses, their evidence."""
