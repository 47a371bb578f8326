"""Motions that excite what is to be identified."""
