"""Recordings in and out: bags, message bytes, trajectory files, what a running robot sends."""
