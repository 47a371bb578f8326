"""Tuning of parameters on recordings: trials of the estimators, their scores, searches, conclusions."""
