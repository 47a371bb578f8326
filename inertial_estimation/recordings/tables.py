"""Tables of numbers in text files, with the lines of their cells for error messages."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inertial_estimation.errors import RecordingError, listing, one_line
from inertial_estimation.files.text_file import read_text
from inertial_estimation.signals import Array


class Column(NamedTuple):
    """A column of a table."""

    path: Path  # file of the table
    name: str  # name in the header, else its number from 1
    cells: Sequence[str]  # its cells, stripped
    lines: Sequence[int]  # line number of each cell in the file
    joint: str  # part of its name that the asterisk of a pattern matches, else its name
    factor: float = 1.0  # factor from its numbers to SI units

    def numbers(self) -> Array:
        """Return the numbers in SI units, NaN for an empty cell, shape (k,).

        Raises:
            RecordingError: If a cell is no number; names file and line.
        """
        numbers = [number(cell) for cell in self.cells]
        if None in numbers:
            raise self.no_number(numbers.index(None))
        return self.factor * np.array(numbers, dtype=np.float64)

    def no_number(self, row: int) -> RecordingError:
        """Return the error that the cell in a row is no number."""
        return RecordingError(
            f"line {self.lines[row]} of '{one_line(self.path)}' has '{one_line(self.cells[row])}' in column "
            f"'{self.name}', expected a number"
        )


class Table(NamedTuple):
    """A table of one file."""

    path: Path  # the file
    columns: Mapping[str, Column]  # columns by name, in their order
    cut: str  # message that the last line is truncated and left out; empty if it is complete

    def whole(self) -> "Table":
        """Return the table itself if it is complete.

        Raises:
            RecordingError: If its last line is truncated.
        """
        if self.cut:
            raise RecordingError(self.cut)
        return self


def number(cell: str) -> float | None:
    """Return the number in a cell, NaN for an empty cell, None for other content."""
    try:
        return float(cell or "nan")
    except ValueError:
        return None


def read_table(path: Path) -> Table:
    """Read a table; a truncated last line, as of a recorder that was killed, is left out.

    The separator is the first of comma, semicolon and tab that the first row contains, else blanks. The first
    row is a header unless it contains only numbers; a column without a name is called by its number. Empty
    lines, comments (#), and columns that are empty in every row are left out.

    Raises:
        RecordingError: If it cannot be read, has no rows, or rows of different lengths.
    """
    shown, rows, separator = f"'{one_line(path)}'", list[tuple[int, list[str]]](), ""
    for line_number, line in enumerate(read_text(path, "table", RecordingError).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        separator = separator if rows else next((one for one in ",;\t" if one in line), "")
        try:
            cells = next(csv.reader([line], delimiter=separator)) if separator else line.split()
        except csv.Error as error:
            raise RecordingError(f"line {line_number} of {shown} cannot be read: {error}") from error
        rows.append((line_number, [cell.strip() for cell in cells]))
    header = rows.pop(0)[1] if rows and any(number(cell) is None for cell in rows[0][1]) else []
    if not rows:
        raise RecordingError(f"{shown} has the header {listing(header, limit=12)} and no rows")
    first = len(rows[0][1])
    width = len(header) if any(header[first:]) else min(len(header) or first, first)
    rows = [(k, c[:width] if not any(c[width:]) else c) for k, c in rows]  # separators at the end of a line
    wrong = [f"line {k} of {shown} has {len(c)} cells, expected {width}" for k, c in rows if len(c) != width]
    cut = wrong.pop() if len(rows) > 1 and len(rows[-1][1]) < width else ""
    if wrong:
        raise RecordingError(wrong[0])
    if cut:
        rows.pop()
    lines, by_line = zip(*rows, strict=True)
    columns = list(zip(*by_line, strict=True))
    filled = [i for i in range(width) if (header and header[i]) or any(columns[i])]
    names = [header[i] if header and header[i] else str(k + 1) for k, i in enumerate(filled)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordingError(f"{shown} has more than one column {listing(twice, limit=12)}")
    named = zip(names, filled, strict=True)
    return Table(path, {name: Column(path, name, columns[i], lines, name) for name, i in named}, cut)
