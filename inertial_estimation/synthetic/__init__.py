"""Synthetic motions and sensor noise of robots: recordings whose truth is known."""
