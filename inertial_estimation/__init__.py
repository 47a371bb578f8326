"""Which way is down and what the links weigh, estimated while the robot runs."""

__version__ = "0.1.0"
