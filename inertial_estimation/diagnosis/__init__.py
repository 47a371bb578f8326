"""Diagnosis of the data and the description of a robot: one table, hypotheses, and their evidence."""
