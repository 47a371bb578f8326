"""Results of several runs of replay or identify side by side."""
