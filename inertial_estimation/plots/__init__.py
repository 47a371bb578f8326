"""Figures and reports: the only place with matplotlib and jinja2."""
