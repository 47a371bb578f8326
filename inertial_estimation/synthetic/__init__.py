"""Made-up robots, motions and sensor noise: recordings whose truth is known."""
