"""One table by which every change of the package is judged: `python -m benchmarks.referee`."""
