"""Estimation of link inertias: measurement windows, innovation gate, filters, hand-over."""
