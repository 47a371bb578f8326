"""Result of one check of the data."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from inertial_estimation.errors import listing
from inertial_estimation.signals import Health, HealthLevel

NAME = "data checks"
MOST_NAMED = 3  # lines in one health message, and names in one line
MOST_ALONE = 2  # alike results that have a line each


class Verdict(Enum):
    """Outcome of a check; the order is that of severity.

    Attributes:
        OK: The data agree with the description.
        WARN: The data are unusual; estimates may be wrong.
        WRONG: The data contradict the description; estimates from them are wrong.
        UNKNOWN: The data do not determine the result; the sentence says why.
    """

    OK = "ok"
    WARN = "warn"
    WRONG = "wrong"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class CheckResult:
    """Verdict of one check about one input, joint or contact.

    Attributes:
        check: Name of the check ("effort sign").
        subject: Input, joint or contact it is about ("panda_joint2").
        verdict: Outcome.
        value: The number that was judged.
        unit: Unit of the number; empty for a ratio or a count.
        sentence: What was found, with the number.
        remedy: What to change: a parameter, or the driver of an input; empty where the verdict is ok.
    """

    check: str
    subject: str
    verdict: Verdict
    value: float
    unit: str
    sentence: str
    remedy: str = ""

    @property
    def failed(self) -> bool:
        """Whether something is unusual or wrong."""
        return self.verdict in (Verdict.WARN, Verdict.WRONG)

    def __str__(self) -> str:
        said = f"{self.subject}: {self.sentence}"
        return f"{said}; {self.remedy}" if self.remedy else said


def as_json(results: Iterable[CheckResult]) -> list[dict[str, Any]]:
    """Return results as plain values for a JSON file."""
    return [{**vars(result), "verdict": result.verdict.value} for result in results]


def severest_first(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the results that failed, the wrong ones first, otherwise in their order."""
    failed = [result for result in results if result.failed]
    return sorted(failed, key=lambda result: result.verdict is not Verdict.WRONG)


def in_words(results: Iterable[CheckResult]) -> list[str]:
    """Return one line for each failed result, the wrong ones first; alike results share a line."""
    groups: dict[tuple[str, Verdict, str], list[CheckResult]] = {}
    for result in severest_first(results):
        groups.setdefault((result.check, result.verdict, result.remedy), []).append(result)
    return [line for group in groups.values() for line in _lines(group)]


def _lines(group: list[CheckResult]) -> list[str]:
    if len(group) <= MOST_ALONE:
        return [str(result) for result in group]
    subjects = listing([result.subject for result in group], limit=MOST_NAMED)
    return [f"{group[0].check} of {subjects}, for example {group[0]}"]


def health_of(results: Iterable[CheckResult], waiting: str = "") -> Health:
    """Summarise results as one health entry.

    Args:
        results: The results; none while there are not enough data.
        waiting: What to say while there are none.
    """
    results = list(results)
    failed = severest_first(results)
    if not failed:
        said = f"{len(results)} checks ok" if results else waiting
        return Health(NAME, HealthLevel.OK, said)
    wrong = any(result.verdict is Verdict.WRONG for result in failed)
    lines = in_words(failed)
    said = ". ".join(lines[:MOST_NAMED])
    if len(lines) > MOST_NAMED:
        said += f"; and {len(lines) - MOST_NAMED} more"
    values = {f"{r.check} {r.subject}": f"{r.verdict.value} {r.value:.4g} {r.unit}".strip() for r in failed}
    return Health(NAME, HealthLevel.ERROR if wrong else HealthLevel.WARN, said, values)
