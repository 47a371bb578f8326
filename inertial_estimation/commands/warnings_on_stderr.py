"""Warnings of a command: a line each on stderr, apart from its results."""

import sys
from collections.abc import Iterable

__all__ = ["print_warnings"]


def print_warnings(sentences: Iterable[str]) -> None:
    """Print each sentence as a warning."""
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)
