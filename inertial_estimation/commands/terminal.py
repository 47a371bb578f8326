"""Output of commands: their reports, and on stderr progress, warnings, and figures that are not drawn."""

import math
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from inertial_estimation.files.outputs import result_folder
from inertial_estimation.plots.page import (
    MARKS,
    REPORT_FILE,
    Cell,
    Findings,
    Notes,
    Page,
    Section,
    Table,
    write_page,
)
from inertial_estimation.recordings.recording import BagRecording

WIDEST = 32  # most characters of a column in a table, and of a progress bar
WIDEST_OF_PAGE = 80  # most characters of a column in a table of a report
PLAIN = str.maketrans({"–": "-", "−": "-", "±": "+-", "²": "^2", "→": "->", "\N{THIN SPACE}": " "})
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


def table_lines(
    rows: Sequence[Sequence[str]], *, left: bool = False, indent: int = 0, widest: int = WIDEST
) -> list[str]:
    """Return rows of texts as lines with aligned columns; texts that are too wide are truncated.

    Args:
        rows: Texts of each row, the header first.
        left: Whether all columns are aligned to the left instead of only the first one.
        indent: Number of blanks before each line.
        widest: Most characters of a text behind the first column.
    """
    cut = [
        [row[0], *(text if len(text) <= widest else f"{text[: widest - 3]}..." for text in row[1:])]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    form = " " * indent + "  ".join(f"{{:{'<' if left or not k else '>'}{w}}}" for k, w in enumerate(widths))
    return [form.format(*row).rstrip() for row in cut]


@contextmanager
def result_folder_with_report(
    folder: Path, own: Collection[str], page: Page, *, drawn: bool = True, name: str = REPORT_FILE
) -> Iterator[Path]:
    """Write results as `result_folder` does, and the page under a name if it is to be drawn.

    If packages that draw are missing, a line on stderr says that there is no report.
    """
    with result_folder(folder, (*own, name)) as partial:
        yield partial
        if drawn:
            try:
                write_page(partial / name, page)
            except ImportError as error:
                print(f"no report: {error} (pip install plotly jinja2)", file=sys.stderr)


def print_page(page: Page, folder: Path | None) -> None:
    """Print the main result of a report, its numbers, the sections for a terminal, and its folder if any."""
    lines = [page.lead]
    for card in page.cards:
        lines.append(f"{card.name:<24}{card.value}" + (f"  ({card.note})" if card.note else ""))
    for section in page.sections:
        if section.printed:
            lines += [f"{section.title}:", *(f"  {line}" for part in section.parts for line in _lines(part))]
    print("\n".join(lines).translate(PLAIN))
    if folder is not None:
        print(f"{'results':<24}{folder}")


def _lines(part: object) -> Sequence[str]:
    """Return a part of a report as lines; what is not determined in brackets."""
    if isinstance(part, Section):
        return [line for inner in part.parts for line in _lines(inner)]
    if isinstance(part, Table):
        marks = {"faded": "({})", "best": "{} *"}
        heads = [[text for name, span in part.groups for text in (name, *[""] * (span - 1))], part.columns]
        rows = [
            [marks.get(one.kind, "{}").format(one.words) if isinstance(one, Cell) else one for one in row]
            for row in part.rows
        ]
        kinds = {one.kind for row in part.rows for one in row if isinstance(one, Cell)}
        left = len(part.text) == len(part.columns or rows[0])
        legend = ["(in brackets: not determined by the data)"] if "faded" in kinds else []
        return [*table_lines([*filter(None, heads), *rows], left=left, widest=WIDEST_OF_PAGE), *legend]
    if isinstance(part, Findings):
        return [
            line
            for one in part.findings
            for line in (
                f"{MARKS[one.verdict]:<6}{one.check} ({one.subject}): {one.sentence}",
                *([f"        -> {one.remedy}"] if one.remedy else []),
            )
        ]
    return part.sentences if isinstance(part, Notes) else ()


def print_warnings(sentences: Iterable[str]) -> None:
    """Print each sentence as a warning on its own line."""
    for sentence in sentences:
        print(f"warning: {sentence}", file=sys.stderr)


@contextmanager
def recording_with_warnings(path: str | Path) -> Iterator[BagRecording]:
    """Open a bag; at the end, print warnings about parts of it that are missing or proved damaged."""
    with BagRecording(path) as recording:
        try:
            yield recording
        finally:
            print_warnings(recording.warnings)
