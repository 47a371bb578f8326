"""Identification methods, one file each."""
