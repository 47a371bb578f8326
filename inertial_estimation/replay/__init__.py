"""Replay of recordings through the estimators of the nodes, and metrics of the results."""
