"""Standard gravity."""

STANDARD_GRAVITY = 9.80665
