"""Tables of numbers in text files: CSV with any usual separator, or columns separated by blanks."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inertial_estimation.errors import RecordingError, did_you_mean, listing, one_line
from inertial_estimation.files.text_file import LARGEST_TABLE, read_text

SEPARATORS = (",", ";", "\t")
LARGEST_CONVERTED = 16 * LARGEST_TABLE  # logs of a robot are larger than tables of results [bytes]


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table as its file holds it.

    Attributes:
        path: The file.
        names: Name of each column: those of the header, else numbers from 1.
        rows: Cells of each row, stripped.
        lines: Line of the file on which each row is.
        cut_short: Whether the last line had fewer cells and was left out.
    """

    path: Path
    names: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    cut_short: bool = False

    @property
    def label(self) -> str:
        """Name of the file without its ending, before a dot in the names of its columns."""
        return self.path.stem

    def index(self, name: str) -> int | None:
        """Return the position of a column by its name, or by its number from 1; None where there is none."""
        if name in self.names:
            return self.names.index(name)
        number = int(name) if name.isascii() and name.isdigit() else 0
        return number - 1 if 1 <= number <= len(self.names) else None

    def numbers(self, column: int) -> Iterator[float]:
        """Yield the numbers of a column, NaN for an empty cell.

        Args:
            column: Position of the column.

        Raises:
            RecordingError: If a cell is no number; names file and line.
        """
        for row, cells in enumerate(self.rows):
            text = cells[column]
            try:
                yield float(text) if text else float("nan")
            except ValueError as error:
                raise self.no_number(row, column) from error

    def no_number(self, row: int, column: int) -> RecordingError:
        """Return the error that a cell is no number."""
        return RecordingError(
            f"line {self.lines[row]} of '{one_line(self.path)}' has '{one_line(self.rows[row][column])}' in "
            f"column '{self.names[column]}', expected a number"
        )

    def no_column(self, name: str) -> RecordingError:
        """Return the error that a column does not exist."""
        hint = did_you_mean(name, self.names, "it has")
        return RecordingError(f"no column '{one_line(name)}' in '{one_line(self.path)}'{hint}")


def read_text_table(path: Path) -> TextTable:
    """Read a table.

    Its separator is the first of comma, semicolon and tab that the first row has, else blanks. Its first row
    is a header unless it holds only numbers; a comment (#) right before the numbers with as many words is a
    header, too. Empty lines, other comments, and columns that are empty in every row are left out.

    Args:
        path: The file.

    Raises:
        RecordingError: If it cannot be read, has no rows, or rows of different lengths.
    """
    text = read_text(path, "table", limit=LARGEST_CONVERTED, error_class=RecordingError)
    comment: list[str] = []
    split: list[tuple[int, list[str]]] = []
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    filled = [line for _number, line in lines if not line.startswith("#")]
    separator = next((one for one in SEPARATORS if filled and one in filled[0]), "")
    try:
        for number, line in lines:
            if not line.startswith("#"):
                split.append((number, _cells(line, separator)))
            elif not split:
                comment = _cells(line.lstrip("# "), separator)
    except csv.Error as error:
        raise RecordingError(f"line {number} of '{one_line(path)}' cannot be read: {error}") from error
    if not split:
        raise RecordingError(f"'{one_line(path)}' has no rows")
    split = _without_empty_columns(split)
    header = [] if _all_numbers(split[0][1]) else split.pop(0)[1]
    if not split:
        raise RecordingError(f"'{one_line(path)}' has a header, {listing(header, limit=12)}, and no rows")
    width = len(header or split[0][1])
    if not header and len(comment) == width:
        header = comment
    names = tuple(header or map(str, range(1, width + 1)))
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RecordingError(f"'{one_line(path)}' has more than one column {listing(twice, limit=12)}")
    cut_short = len(split) > 1 and len(split[-1][1]) < width
    return _checked(path, names, split[:-1] if cut_short else split, cut_short)


def _checked(path: Path, names: tuple[str, ...], rows: list[tuple[int, list[str]]], cut: bool) -> TextTable:
    for number, row in rows:
        if len(row) != len(names):
            raise RecordingError(
                f"line {number} of '{one_line(path)}' has {len(row)} cells, expected {len(names)} "
                f"({listing(names, limit=6)})"
            )
    return TextTable(path, names, [row for _number, row in rows], [number for number, _row in rows], cut)


def _without_empty_columns(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Leave out columns that are empty in every row: two tabs in a row, a comma at the end of each."""
    width = len(rows[0][1])
    filled = {i for _number, row in rows for i, cell in enumerate(row) if cell}
    kept = [i for i in range(width) if i in filled]
    if len(kept) == width:
        return rows
    return [
        (number, [row[i] for i in kept] + row[width:] if len(row) >= width else row) for number, row in rows
    ]


def _cells(line: str, separator: str) -> list[str]:
    if not separator:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _all_numbers(cells: Sequence[str]) -> bool:
    try:
        return all(float(cell) is not None for cell in cells if cell)
    except ValueError:
        return False
