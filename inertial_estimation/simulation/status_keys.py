"""Keys of the values that the status of a simulation has in its diagnostics."""

FALLEN = "fallen"  # "true" or "false"
RELEASED_AT = "released at [s]"  # from the hoist, in simulated time; absent before
