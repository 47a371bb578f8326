"""Whole-body controller that consumes the estimates."""
