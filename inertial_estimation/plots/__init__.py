"""Figures and reports; the only package that imports plotly, matplotlib and jinja2."""
