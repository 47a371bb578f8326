"""Recordings of real robots through the commands, against plain least squares in the same run."""
