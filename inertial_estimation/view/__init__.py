"""Recordings of a robot and its estimates for the viewer Rerun (the only place that imports it)."""
