"""Faults by the thousand against the pipelines; `run_campaign` returns the totals."""

from benchmarks.fault_campaign.campaign import run_campaign

__all__ = ["run_campaign"]
