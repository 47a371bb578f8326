"""Design of motions that excite the parameters to be identified."""
