"""Robots, scenes and live tools that tests share."""
