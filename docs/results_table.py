"""Writes the tables of results.md from runs of the referee: `python docs/results_table.py RUN.json ...`."""

import json
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("results.md")
MARK = "<!-- referee: written by docs/results_table.py -->\n"
LONGEST_NOTE = 60  # characters
Row = dict[str, object]
TITLES = {
    "recordings": "Recordings of real robots",
    "synthetic": "Synthetic recordings with known truth",
    "faults": "Faults in the readings",
    "ordinary": "Ordinary robots",
    "diagnosis": "Diagnosis",
    "speed": "Speed",
}


def tables(paths: list[Path]) -> str:
    """Return a table for each part that one of the runs has; of a part in two, the later one counts."""
    parts = {}
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        parts |= {part: (rows, run["commit"], run["seed"]) for part, rows in run["parts"].items()}
    return "\n".join(table(part, *parts[part]) for part in TITLES if part in parts)


def table(part: str, rows: list[Row], commit: str, seed: int) -> str:
    """Return the table of one part, with the command that prints it.

    Subjects with the same quantities, as "tilt: silent" and "payload: silent", stand in a table of their own
    with a column for each quantity. Of cases that are right or not, those that are not are listed.
    """
    command = f"python -m benchmarks.referee --only {part} --seed {seed} --output FILE.json"
    head = f"### {TITLES[part]}\n\n`{command}` (commit {commit})\n"
    wrong = [row for row in rows if row["unit"] == "right" and not row["value"]]
    answered = [row for row in rows if row["unit"] == "right"]
    if answered:
        others = " The others:" if wrong else ""
        head += f"\n{len(answered) - len(wrong)} of {len(answered)} cases are right.{others}\n"
    subjects: dict[str, dict[str, Row]] = {}
    for row in [row for row in rows if row not in answered] + wrong:
        subject, _, quantity = str(row["key"]).rpartition(": ")
        subjects.setdefault(subject, {})[quantity] = row
    alike: dict[tuple[str, ...], list[str]] = {}
    for subject, found in subjects.items():
        alike.setdefault(tuple(found), []).append(subject)
    wide = {q: s for q, s in alike.items() if len(q) > 1 and len(s) > 1}
    tables = [
        _wide(quantities, {one: subjects[one] for one in chosen}) for quantities, chosen in wide.items()
    ]
    left = [row for found in subjects.values() if tuple(found) not in wide for row in found.values()]
    if left:
        lines = "".join(
            f"| {row['key']} | {value(row)}{f' ({note(row)})' if note(row) else ''} |\n" for row in left
        )
        tables.insert(0, "| what | value |\n|---|---|\n" + lines)
    return "\n".join([head, *tables])


def _wide(quantities: tuple[str, ...], subjects: dict[str, dict[str, Row]]) -> str:
    """Return a table with one line a subject; what is noted of all its values stands with its name."""
    text = f"| what | {' | '.join(quantities)} |\n|---{'|---' * len(quantities)}|\n"
    for subject, found in subjects.items():
        notes = {note(row) for row in found.values()}
        common = notes.pop() if len(notes) == 1 else ""
        cells = [
            value(row) + (f" ({note(row)})" if note(row) and not common else "") for row in found.values()
        ]
        text += f"| {subject}{f' ({common})' if common else ''} | {' | '.join(cells)} |\n"
    return text


def value(row: Row) -> str:
    """Return a value with its unit."""
    return f"{number(row['value'])} {row['unit']}".strip()


def note(row: Row) -> str:
    """Return what is said of a value, at most the last 60 characters of it."""
    text = str(row["note"] or "").replace("|", "/")
    return text if len(text) <= LONGEST_NOTE else "... " + text[-LONGEST_NOTE:]


def number(measured: object) -> str:
    """Return a number in four digits; None is what could not be measured."""
    if not isinstance(measured, (int, float)):
        return "not measured"
    return f"{measured:.4g}" if measured < 1e4 else f"{measured:.0f}"


if __name__ == "__main__":
    before, _mark, rest = PAGE.read_text(encoding="utf-8").partition(MARK)
    _tables, _mark, after = rest.partition(MARK)
    PAGE.write_text(
        before + MARK + "\n" + tables([Path(a) for a in sys.argv[1:]]) + "\n" + MARK + after, "utf-8"
    )
