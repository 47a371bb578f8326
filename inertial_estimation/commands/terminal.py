"""What commands print on stderr beside their results: progress, warnings, and what could not be drawn."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inertial_estimation.recordings.recording import BagRecording

WIDEST = 32  # characters of a column in a table
LINE_PERIOD_S = 10.0  # between two lines; what takes less prints none


@contextmanager
def progress_bar(title: str, total: float, unit: str = "") -> Iterator[Callable[..., None]]:
    """Show progress while the context lasts: a bar on a terminal, a line now and then in a pipe or a log.

    Args:
        title: What goes on.
        total: How much there is to do.
        unit: Of it; empty for steps.

    Yields:
        A function to call with the completed amount, and on request with what is done now.
    """
    if not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        yield _progress_lines(title, total, unit)
        return
    from tqdm import tqdm

    form = "{desc} {bar} {n:.0f} % {elapsed}" if unit == "%" else None
    with tqdm(total=round(total, 1), unit=unit or "it", desc=title, bar_format=form, file=sys.stderr) as bar:

        def show(done: float, what: str = "") -> None:
            if what:
                bar.set_description_str(f"{title}: {what}", refresh=False)
            bar.update(max(min(round(done, 1), bar.total) - bar.n, 0.0))

        yield show


def _progress_lines(title: str, total: float, unit: str) -> Callable[..., None]:
    """Return a function that prints the completed amount as a line of its own, at most every ten seconds."""
    begin_s = time.monotonic()
    next_s = begin_s + LINE_PERIOD_S

    def show(done: float, _what: str = "") -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if now_s < next_s:
            return
        next_s = now_s + LINE_PERIOD_S
        share = 100.0 * min(done / total, 1.0) if total > 0.0 else 100.0
        amount = f"{done:.1f} of {total:.1f} {unit}, " if unit not in ("", "%") else ""
        print(f"{title}: {share:.0f} % ({amount}{now_s - begin_s:.0f} s)", file=sys.stderr, flush=True)

    return show


@contextmanager
def progress_words(title: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done while the context lasts, where it is not known how much is left.

    Args:
        title: What goes on.

    Yields:
        A function to call with what is done now.
    """
    live = sys.stderr.isatty()
    next_s = time.monotonic() + LINE_PERIOD_S

    def show(what: str) -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if live:
            print(f"\r{title}: {what:<40}", end="", file=sys.stderr, flush=True)
        elif now_s >= next_s:
            next_s = now_s + LINE_PERIOD_S
            print(f"{title}: {what}", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if live:
            print(f"\r{' ' * (len(title) + 42)}\r", end="", file=sys.stderr, flush=True)


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
    lines = []
    for row in cut:
        texts = [
            text.ljust(width) if left or not k else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(" " * indent + "  ".join(texts).rstrip())
    return lines


def print_warnings(sentences: Iterable[str]) -> None:
    """Print each sentence as a warning, a line each."""
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)


@contextmanager
def recording_with_warnings(path: str | Path) -> Iterator[BagRecording]:
    """Open a bag, print what of it is missing, and at the end what was found damaged while it was read.

    Raises:
        ~inertial_estimation.errors.RecordingError: If there is no bag, or no message of it can be read.
    """
    from inertial_estimation.recordings.recording import BagRecording

    with BagRecording(path) as recording:
        known = len(recording.warnings)
        print_warnings(recording.warnings)
        try:
            yield recording
        finally:
            print_warnings(recording.warnings[known:])


@contextmanager
def drawing(what: str, packages: str = "plotly jinja2") -> Iterator[None]:
    """Import what draws and draw within the context; where it is not installed, say what is not drawn.

    Args:
        what: Figures or report, for the line.
        packages: What is to be installed.
    """
    try:
        yield
    except ImportError as error:
        print(f"no {what}: {error} (pip install {packages})", file=sys.stderr)
