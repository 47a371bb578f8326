"""Figures and reports; the only package that imports matplotlib and jinja2."""
