"""Output of commands on stderr besides their results: progress, warnings, and figures that are not drawn."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inertial_estimation.recordings.recording import BagRecording

WIDEST = 32  # most characters of a column in a table, and of a progress bar
LINE_PERIOD_S = 10.0  # time between two lines in a pipe [s]; shorter work prints no line


@contextmanager
def progress_bar(title: str, total: float, unit: str = "") -> Iterator[Callable[..., None]]:
    """Show progress while the context lasts: a bar on a terminal, a line every 10 s in a pipe or a log.

    Args:
        title: Name of the work.
        total: Amount of work; NaN if it is unknown.
        unit: Unit of the amount; empty for steps.

    Yields:
        A function to call with the completed amount, and optionally with the name of the current step.
    """
    live, begin_s = sys.stderr.isatty(), time.monotonic()
    period_s = 0.1 if live else LINE_PERIOD_S
    next_s = begin_s if live else begin_s + period_s

    def show(done: float, what: str = "") -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if now_s < next_s:
            return
        next_s = now_s + period_s
        line = f"{title}: {what}"
        if not math.isnan(total):
            share = min(done / total, 1.0) if total > 0.0 else 1.0
            amount = f"{done:.1f} of {total:.1f} {unit}, " if unit not in ("", "%") else ""
            bar = f"[{'#' * round(share * WIDEST):<{WIDEST}}] " if live else ""
            line = f"{title}: {bar}{100.0 * share:.0f} % ({amount}{now_s - begin_s:.0f} s)"
            line += f" {what}" if live else ""
        form = f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}" if live else f"{line}\n"
        print(form, end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def table_lines(rows: Sequence[Sequence[str]], *, left: bool = False, indent: int = 0) -> list[str]:
    """Return rows of texts as lines with aligned columns; texts that are too wide are truncated.

    Args:
        rows: Texts of each row, the header first.
        left: Whether all columns are aligned to the left instead of only the first one.
        indent: Number of blanks before each line.
    """
    cut = [
        [row[0], *(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in row[1:])]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    form = " " * indent + "  ".join(f"{{:{'<' if left or not k else '>'}{w}}}" for k, w in enumerate(widths))
    return [form.format(*row).rstrip() for row in cut]


def print_warnings(sentences: Iterable[str]) -> None:
    """Print each sentence as a warning on its own line."""
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)


@contextmanager
def recording_with_warnings(path: str | Path) -> Iterator[BagRecording]:
    """Open a bag; at the end, print warnings about parts of it that are missing or proved damaged."""
    from inertial_estimation.recordings.recording import BagRecording

    with BagRecording(path) as recording:
        try:
            yield recording
        finally:
            print_warnings(recording.warnings)


@contextmanager
def drawing(what: str, packages: str = "plotly jinja2") -> Iterator[None]:
    """Import packages and draw within the context; if they are missing, print that `what` is not drawn."""
    try:
        yield
    except ImportError as error:
        print(f"no {what}: {error} (pip install {packages})", file=sys.stderr)
