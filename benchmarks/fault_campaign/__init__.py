"""Seeded faults injected into the readings of the pipelines, and what the pipelines make of them."""
