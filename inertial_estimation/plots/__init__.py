"""Figures from histories: the only place with matplotlib."""
