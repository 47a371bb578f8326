"""Estimated robots in the formats of simulators, with variants drawn from what is known of their inertias."""
