"""What commands print on stderr beside their results: progress, warnings, and what could not be drawn."""

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

WIDEST = 32  # characters of a column in a table, or of a bar
LINE_PERIOD_S = 10.0  # between two lines in a pipe; what takes less prints none


@contextmanager
def progress_bar(title: str, total: float, unit: str = "") -> Iterator[Callable[..., None]]:
    """Show progress while the context lasts: a bar on a terminal, a line now and then in a pipe or a log.

    Args:
        title: What goes on.
        total: How much there is to do; NaN: not known.
        unit: Of it; empty for steps.

    Yields:
        A function to call with the completed amount, and on request with what is done now.
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
    """Return rows of texts as lines with columns of equal width, of which a text that is too wide is cut.

    Args:
        rows: Texts, of the header first.
        left: Whether all columns are aligned to the left, not the first alone.
        indent: Blanks before each line.
    """
    cut = [
        [row[0], *(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in row[1:])]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    form = " " * indent + "  ".join(f"{{:{'<' if left or not k else '>'}{w}}}" for k, w in enumerate(widths))
    return [form.format(*row).rstrip() for row in cut]


def print_warnings(sentences: Iterable[str]) -> None:
    """Print each sentence as a warning, a line each."""
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)


@contextmanager
def recording_with_warnings(path: str | Path) -> Iterator[BagRecording]:
    """Open a bag, and print at the end what of it is missing, or was found damaged while it was read."""
    from inertial_estimation.recordings.recording import BagRecording

    with BagRecording(path) as recording:
        try:
            yield recording
        finally:
            print_warnings(recording.warnings)


@contextmanager
def drawing(what: str, packages: str = "plotly jinja2") -> Iterator[None]:
    """Import what draws and draw within the context; without the packages, say what is not drawn."""
    try:
        yield
    except ImportError as error:
        print(f"no {what}: {error} (pip install {packages})", file=sys.stderr)
