"""Independent calls on many cores and machines, with results that do not depend on their number."""

from inertial_estimation.parallel.workers import InThisProcess, Workers, open_workers

__all__ = ["InThisProcess", "Workers", "open_workers"]
