"""What `benchmarks.check_detection` has counted, and its table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

WIDTH = 46


@dataclass(frozen=True)
class Case:
    """One injected error.

    Attributes:
        error: Its kind.
        detected: Anything was found that is not found in the clean part.
        named: The right check says it of the right joint, contact or link.
        falsely: Anything else was found.
        found: What was changed, and what was found.
    """

    error: str
    detected: bool
    named: bool
    falsely: bool
    found: str

    @property
    def right(self) -> bool:
        """Whether it is named, and nothing else."""
        return self.named and not self.falsely


@dataclass
class Unit:
    """One seed of one scene.

    Attributes:
        scene: Name of the scene.
        seed: The seed.
        alarms: What is found in the clean part and not in the whole recording.
        cases: The errors that were injected.
        tried: The kinds that were tried, also those for which the part suffices to reveal nothing.
    """

    scene: str
    seed: int
    alarms: list[str]
    cases: list[Case] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, stored: dict[str, Any]) -> "Unit":
        """Return a unit as it was stored."""
        cases = [Case(**case) for case in stored["cases"]]
        return cls(stored["scene"], stored["seed"], stored["alarms"], cases, stored["tried"])

    @property
    def as_dict(self) -> dict[str, Any]:
        """What is stored."""
        return asdict(self)


def table(units: Sequence[Unit], errors: Sequence[str]) -> str:
    """Return the table of units by kind of error, then by scene.

    Args:
        units: The seeds of the scenes.
        errors: The kinds that are shown.
    """
    header = f"{'':<{WIDTH}} {'tried':>6} {'detected':>8} {'named':>6} {'falsely':>7}"
    cases = [case for unit in units for case in unit.cases if case.error in errors]
    lines = [header]
    for name in errors:
        lines.append(_row(name, [case for case in cases if case.error == name]))
    lines += ["", header]
    for scene in dict.fromkeys(unit.scene for unit in units):
        own = [unit for unit in units if unit.scene == scene]
        shown = [case for unit in own for case in unit.cases if case.error in errors]
        lines.append(_row(f"{scene}, {len(own)} seeds", shown))
    alarms = [f"{unit.scene}, seed {unit.seed}: {unit.alarms}" for unit in units if unit.alarms]
    lines += ["", _row("all", cases), f"false alarms in {len(alarms)} of {len(units)} clean parts", *alarms]
    return "\n".join(lines)


def _row(name: str, cases: Sequence[Case]) -> str:
    """Return a row."""
    if not cases:
        return f"{name:<{WIDTH}} {'-':>6}"
    detected, named, falsely = (
        sum(getattr(c, kind) for c in cases) for kind in ("detected", "named", "falsely")
    )
    share = f"{100.0 * named / len(cases):6.1f} %"
    return f"{name:<{WIDTH}} {len(cases):>6} {detected:>8} {named:>6} {falsely:>7} {share}"
