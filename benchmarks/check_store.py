"""The file in which `benchmarks.check_detection` keeps what it has counted: a line a scene and seed.

A scene and seed may have several lines, each of other kinds of error. A run that is ended in the middle of a
line leaves a part of one, which is no result; the next run cuts it off before it appends.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.check_scores import Unit


def read(file: Path) -> list[Unit]:
    """Read the lines of a file; a last one that was cut off is left out."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return merged(Unit.of(json.loads(line)) for line in lines if line.endswith("\n"))


def append(unit: Unit, file: Path) -> None:
    """Append a line."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(unit.as_dict) + "\n")


def without_torn_line(file: Path) -> None:
    """Cut off a last line that has no end."""
    with file.open("rb+") as stored:
        stored.truncate(stored.read().rfind(b"\n") + 1)


def merged(units: Iterable[Unit]) -> list[Unit]:
    """Join the units of the same scene and seed; of an error that was tried twice, the later one counts."""
    joined: dict[tuple[str, int], Unit] = {}
    for unit in units:
        before = joined.get((unit.scene, unit.seed))
        if before is None:
            joined[unit.scene, unit.seed] = unit
            continue
        kept = [case for case in before.cases if case.error not in unit.tried]
        tried = [*(kind for kind in before.tried if kind not in unit.tried), *unit.tried]
        joined[unit.scene, unit.seed] = Unit(unit.scene, unit.seed, unit.alarms, [*kept, *unit.cases], tried)
    return list(joined.values())


def missing(errors: Sequence[str], units: Sequence[Unit], scene: str, seed: int) -> tuple[str, ...] | None:
    """Return the kinds of error that are not among some units yet; None where nothing is left to do."""
    tried = [unit.tried for unit in units if (unit.scene, unit.seed) == (scene, seed)]
    left = tuple(kind for kind in errors if not any(kind in kinds for kinds in tried))
    return left if left or not tried else None
