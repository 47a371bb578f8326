"""Faults by the thousand against the pipelines; `run_campaign` returns the totals."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded: the processes share the cores

from benchmarks.fault_campaign import message_kinds, reading_kinds  # noqa: F401
from benchmarks.fault_campaign.campaign import run_campaign

__all__ = ["run_campaign"]
