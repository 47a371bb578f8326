"""Base orientation and velocity: tilt observers, contacts in use, gyroscope bias."""
