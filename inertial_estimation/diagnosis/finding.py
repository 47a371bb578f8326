"""Result of a check: verdict, number, sentence, remedy, and the parameters that correct the error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from inertial_estimation.signals import Health, HealthLevel

NAME = "data checks"
MOST_NAMED = 3  # most lines in one health message, and most names in one line


class Verdict(Enum):
    """Outcome of a check; the order is that of severity."""

    OK = "ok"  # the data agree with the description
    WARN = "warn"  # the data are unusual; estimates may be wrong
    WRONG = "wrong"  # the data contradict the description; estimates from them are wrong
    UNKNOWN = "cannot tell"  # the data do not determine the result; the sentence says why


@dataclass(frozen=True)
class Fix:
    """Parameters that mend what was found: added offsets [rad], factors of gains, and values of others."""

    joint_offsets: Mapping[str, float] = field(default_factory=dict)
    drive_gains: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)


NO_FIX = Fix()


@dataclass(frozen=True)
class Finding:
    """Verdict of one check about one input, joint, contact or link."""

    check: str  # name of the check ("effort sign")
    subject: str  # what it is about ("panda_joint2")
    verdict: Verdict  # outcome
    value: float  # the number that was judged
    unit: str  # unit of the number; empty for a ratio or a count
    sentence: str  # what was found, with the number
    remedy: str = ""  # what to change: a parameter, or the driver of an input; empty if the verdict is ok
    fix: Fix = field(default=NO_FIX, compare=False)  # parameters that mend it

    @property
    def failed(self) -> bool:
        """Whether something is unusual or wrong."""
        return self.verdict in (Verdict.WARN, Verdict.WRONG)

    def __str__(self) -> str:
        text = f"{self.subject}: {self.sentence}"
        return f"{text}; {self.remedy}" if self.remedy else text


def cannot_tell(check: str, subject: str, why: str, remedy: str = "") -> Finding:
    """Return the finding that the data do not determine a result, why, and what may help."""
    return Finding(check, subject, Verdict.UNKNOWN, float("nan"), "", why, remedy)


def rounded(value: float, digits: int = 1) -> str:
    """Return a number with few digits, a standard deviation with one: 10, not 1e+01."""
    return f"{float(f'{value:.{digits}g}'):g}"


def times(factor: float) -> str:
    """Return a phrase that says how much too large or too small a value of some factor is."""
    size = max(abs(factor), 1.0 / abs(factor))
    number = f"{size:.0f}" if size > 100.0 else f"{size:.3g}"
    sign = " and of the other sign" if factor < 0.0 else ""
    return f"{number} times too {'large' if abs(factor) > 1.0 else 'small'}{sign}"


def undistinguished(others: Iterable[str]) -> str:
    """Return the end of a sentence that lists equally probable causes; empty if there are none."""
    words = list(dict.fromkeys(others))
    more = f", and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return f"; it cannot be distinguished from: {'; '.join(words[:MOST_NAMED])}{more}" if words else ""


def as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return findings as plain values for a JSON file."""
    names = ("check", "subject", "verdict", "value", "unit", "sentence", "remedy")
    rows = [{name: getattr(one, name) for name in names} for one in findings]
    return [{**row, "verdict": row["verdict"].value} for row in rows]


def severest_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that failed, the wrong ones first, otherwise in their order."""
    failed = [one for one in findings if one.failed]
    return sorted(failed, key=lambda one: one.verdict is not Verdict.WRONG)


def in_words(findings: Iterable[Finding]) -> list[str]:
    """Return one line for each failed finding, the wrong ones first."""
    return [str(one) for one in severest_first(findings)]


def health_of(findings: Iterable[Finding], waiting: str = "") -> Health:
    """Summarise findings as one health entry; `waiting` is its message while there are none."""
    findings = list(findings)
    failed = severest_first(findings)
    if not failed:
        known = sum(one.verdict is Verdict.OK for one in findings)
        return Health(NAME, HealthLevel.OK, f"{known} checks ok" if findings else waiting)
    wrong = any(one.verdict is Verdict.WRONG for one in failed)
    text = ". ".join(in_words(failed)[:MOST_NAMED])
    if len(failed) > MOST_NAMED:
        text += f"; and {len(failed) - MOST_NAMED} more"
    values = {f"{r.check} {r.subject}": f"{r.verdict.value} {r.value:.4g} {r.unit}".strip() for r in failed}
    return Health(NAME, HealthLevel.ERROR if wrong else HealthLevel.WARN, text, values)
