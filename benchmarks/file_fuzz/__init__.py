"""Fuzz of every kind of file that the package reads: `python -m benchmarks.file_fuzz`."""
