"""Figures and reports; the only package that imports plotly and jinja2."""
