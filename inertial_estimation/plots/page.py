"""Reports: one self-contained HTML page with contents, tables and interactive graphs, without a network."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Union

from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.errors import with_sigma as plain_with_sigma
from inertial_estimation.figures import Figure
from inertial_estimation.files.outputs import write_text

NO_NUMBER = "–"  # in place of a missing number
MINUS = "−"
GOOD, CAUTION, BAD = "good", "caution", "bad"  # tones of sentences
TONES = {Verdict.OK: GOOD, Verdict.WARN: CAUTION, Verdict.WRONG: BAD, Verdict.UNKNOWN: ""}
MARKS = {Verdict.OK: "ok", Verdict.WARN: "WARN", Verdict.WRONG: "WRONG", Verdict.UNKNOWN: "?"}
REPORT_FILE = "report.html"


class Card(NamedTuple):
    """One number at the top of a page, and a note below it."""

    name: str
    value: str
    note: str = ""


class Cell(NamedTuple):
    """Text of a table with a style: ``faded`` (not determined by the data), ``best`` or ``bad``."""

    words: str
    kind: str


@dataclass(frozen=True)
class Table:
    """Rows of texts."""

    columns: Sequence[str]  # names of the columns; empty for a table without a header
    rows: Sequence[Sequence[str | Cell]]  # the rows
    text: Sequence[int] = (0,)  # indices of the columns that are aligned to the left
    # names above the columns, each with the number of columns below it
    groups: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class Notes:
    """Sentences in a box of a tone."""

    sentences: Sequence[str]
    kind: str = ""


@dataclass(frozen=True)
class Findings:
    """Findings of a diagnosis, each with its remedy."""

    findings: Sequence[Finding]


@dataclass(frozen=True)
class Section:
    """A heading with its contents: sentences, tables, figures, and folded sections."""

    title: str
    parts: Sequence[Union[str, Table, Notes, Findings, Figure, "Section"]]
    printed: bool = False  # whether its tables and notes are also for a terminal


@dataclass(frozen=True)
class Page:
    """Content of a report."""

    title: str  # title of the report
    lead: str  # first sentence: the main result
    tone: str  # tone of that sentence
    cards: Sequence[Card]  # the most important numbers
    sections: Sequence[Section]  # the rest, listed in the contents


def write_page(path: Path, page: Page) -> Path:
    """Write a page.

    Args:
        path: File to write.
        page: Content of the page.

    Raises:
        ~inertial_estimation.errors.ConfigurationError: If the file cannot be written.
        ImportError: If the packages that draw are not installed.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from inertial_estimation.plots.graphs import packed_graphs, packed_library

    environment = Environment(
        loader=PackageLoader("inertial_estimation.plots"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = list(_figures(page.sections))
    drawn = {"graphs": packed_graphs(figures), "library": packed_library()} if figures else {"graphs": ""}
    return write_text(path, environment.get_template("page.html").render(page=page, tones=TONES, **drawn))


def _figures(sections: Iterable[Section]) -> Iterator[Figure]:
    for section in sections:
        for part in section.parts:
            if isinstance(part, Figure):
                yield part
            elif isinstance(part, Section):
                yield from _figures([part])


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with a number of significant digits."""
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    return f"{value:.{digits}g}".replace("-", MINUS)


def percent(value: float | None) -> str:
    """Return a share as per cent."""
    if value is None or not math.isfinite(value):
        return NO_NUMBER
    return f"{100 * value:.2f}\N{THIN SPACE}%"


def triple(values: Iterable[float]) -> str:
    """Return numbers to three decimals, separated by commas."""
    texts = (f"{value:.3f}" if math.isfinite(value) else NO_NUMBER for value in map(float, values))
    return ", ".join(texts).replace("-", MINUS)


def with_sigma(value: float, sigma: float | None) -> str:
    """Return a number with its standard deviation, both to the second digit of that."""
    return plain_with_sigma(value, sigma, "±").replace("-", MINUS) if math.isfinite(value) else NO_NUMBER


def sources(provenance: Mapping[str, Any], settings: Mapping[str, Any]) -> Section:
    """Return a section on the sources of results: files with their hashes, command, version, machine.

    Args:
        provenance: Provenance of the results.
        settings: Parameters in effect by name.
    """
    version, urdf, machine = (provenance[name] for name in ("version", "urdf", "machine"))
    commit = f", commit {version['commit'][:12]}" if "commit" in version else ""
    changes = " with changes" if version.get("modified") else ""
    files = [file for bag in provenance["bags"] for file in bag["files"]]
    rows = [
        ("command", " ".join(provenance["command"])),
        ("version", f"{version['package']}{commit}{changes}"),
        ("time", provenance["time"]),
        *(("recording", f"{f['path']}, {f['bytes']} bytes, sha256 {f['sha256'][:16]}…") for f in files),
        *(("parameter file", f"{f['path']}, sha256 {f['sha256'][:16]}…") for f in provenance["config"]),
        ("description", f"{urdf['source']}, sha256 {urdf['sha256'][:16]}…"),
        *(("--param", text) for text in provenance["param"]),
        ("machine", f"{machine['system']}, Python {machine['python']}"),
    ]
    values = Table(("parameter", "value"), [(name, str(value)) for name, value in settings.items()], (0, 1))
    folded = [Section("All parameters in effect", [values])] if settings else []
    return Section("Where these results come from", [Table((), rows, (0, 1)), *folded])
