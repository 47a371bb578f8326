"""Print the version of the package."""

import argparse

__all__ = ["EXAMPLES", "add_arguments"]

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""
