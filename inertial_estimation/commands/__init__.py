"""One thin argparse main per tool of the `inertial-estimation` console script."""
