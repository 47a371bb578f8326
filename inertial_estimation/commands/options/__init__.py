"""Descriptions, examples and options of the commands, declared without loading what the commands need."""
