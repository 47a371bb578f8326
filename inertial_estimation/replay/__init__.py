"""Recordings through the same estimators as on the robot; metrics; synthetic truth."""
