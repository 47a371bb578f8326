"""Recordings streamed into identification and calibration, and the files these write."""
