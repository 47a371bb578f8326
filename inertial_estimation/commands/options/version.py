"""Print the version of the package."""

import argparse

EXAMPLES = ("",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: none."""
