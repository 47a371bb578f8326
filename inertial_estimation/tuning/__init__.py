"""Better parameters from recordings: trials of the estimators, scores, searches, and what they conclude."""
