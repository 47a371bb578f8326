"""Writes the tables of results.md from runs of the referee: `python docs/results_table.py RUN.json ...`."""

import json
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("results.md")
MARK = "<!-- referee: written by docs/results_table.py -->\n"
TITLES = {
    "recordings": "Recordings of real robots",
    "synthetic": "Synthetic recordings with known truth",
    "faults": "Faults in the readings",
    "ordinary": "Ordinary robots",
    "diagnosis": "Diagnosis",
    "speed": "Speed",
    "size": "Size",
}


def tables(paths: list[Path]) -> str:
    """Return a table for each part that one of the runs has; of a part in two, the later one counts."""
    parts = {}
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        parts |= {part: (rows, run["commit"], run["seed"]) for part, rows in run["parts"].items()}
    return "\n".join(table(part, *parts[part]) for part in TITLES if part in parts)


def table(part: str, rows: list[dict[str, object]], commit: str, seed: int) -> str:
    """Return the table of one part, with the command that prints it."""
    command = f"python -m benchmarks.referee --only {part} --seed {seed} --output FILE.json"
    head = f"### {TITLES[part]}\n\n`{command}` (commit {commit})\n\n| what | value | |\n|---|---|---|\n"
    shown = [row for row in rows if not str(row["key"]).startswith("room ")]
    return head + "".join(
        f"| {row['key']} | {number(row['value'])} {row['unit']} | {row['note'] or ''} |\n" for row in shown
    )


def number(value: object) -> str:
    """Return a number in four digits; None is what could not be measured."""
    if not isinstance(value, (int, float)):
        return "not measured"
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"


if __name__ == "__main__":
    before, _mark, rest = PAGE.read_text(encoding="utf-8").partition(MARK)
    _tables, _mark, after = rest.partition(MARK)
    PAGE.write_text(
        before + MARK + "\n" + tables([Path(a) for a in sys.argv[1:]]) + "\n" + MARK + after, "utf-8"
    )
