"""The commands of `inertial-estimation`: one module each, whose `run` takes the parsed arguments."""
