"""Faults by the thousand against the pipelines; `run_campaign` returns the totals."""

from benchmarks.fault_campaign import delivery_kinds, message_kinds, mounting_kinds, value_kinds  # noqa: F401
from benchmarks.fault_campaign.campaign import run_campaign

__all__ = ["run_campaign"]
