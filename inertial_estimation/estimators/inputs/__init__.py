"""Inputs of the estimators: buffers, alignment by stamp, interpolation."""
