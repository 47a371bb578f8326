"""Online estimation of inertial parameters: filter on information, noise, causes, supervisor, publication."""
