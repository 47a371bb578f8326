"""Takes estimated link inertias: all of one stamp together, or none."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from inertial_estimation.models.robot_model import LinkBody
from inertial_estimation.signals import Health, HealthLevel, LinkInertia, seconds
from inertial_estimation.spatial.inertial_parameters import InertialParameters

__all__ = ["InertiaIntake"]

MAX_PENDING = 32  # sets kept, and stamps of bad ones remembered


class InertiaIntake:
    """Collects the inertias of one stamp and hands them over once all expected links are there.

    A set is refused as a whole when one of its inertias is inconsistent, of a link not expected, not newer
    than what is in force, or when a newer set is complete before it.

    Attributes:
        applied_stamp_ns: Stamp of the set in force [ns]; None: the nominal inertias.
        applied: Number of sets handed over.
        refused: Number of inertias and sets refused, by reason.
    """

    def __init__(self, bodies: Mapping[str, LinkBody], timeout: float) -> None:
        self._links: Sequence[str] = tuple(bodies)
        self.timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Forget everything; the nominal inertias are in force."""
        self.applied_stamp_ns: int | None = None
        self.applied = 0
        self.refused: Counter[str] = Counter()
        self._pending: dict[int, dict[str, LinkInertia]] = {}
        self._bad: set[int] = set()
        self._last_refusal = ""

    def push(self, stamp_ns: int, inertia: LinkInertia) -> None:
        """Take the inertia of one link; never raises on a bad one.

        Args:
            stamp_ns: Stamp shared by all links of one estimate [ns].
            inertia: Inertia of the body of a link.
        """
        if inertia.link not in self._links:
            self._refuse("link not expected", f"'{inertia.link}'")
            return
        if self.applied_stamp_ns is not None and stamp_ns <= self.applied_stamp_ns:
            self._refuse("stamp not newer", f"{stamp_ns} ns after {self.applied_stamp_ns} ns")
            return
        problem = _problem(inertia)
        if problem:
            self._bad.add(stamp_ns)
            if len(self._bad) > MAX_PENDING:
                self._bad.remove(min(self._bad))
            self._pending.pop(stamp_ns, None)
            self._refuse("inconsistent", f"'{inertia.link}': {problem}")
            return
        if stamp_ns in self._bad:
            return
        self._pending.setdefault(stamp_ns, {})[inertia.link] = inertia
        while len(self._pending) > MAX_PENDING:
            oldest = self._pending.pop(min(self._pending))
            if len(oldest) < len(self._links):
                self._refuse("link missing", "too many incomplete sets")

    def pop(self) -> Mapping[str, LinkInertia] | None:
        """Return the newest complete set, once; older incomplete ones are refused.

        Returns:
            Inertias by link; None if there is no new complete set.
        """
        complete = [s for s, found in self._pending.items() if len(found) == len(self._links)]
        if not complete:
            return None
        stamp_ns = max(complete)
        newest = self._pending[stamp_ns]
        for stamp in [s for s in self._pending if s <= stamp_ns]:
            found = self._pending.pop(stamp)
            missing = [link for link in self._links if link not in found]
            if missing:
                self._refuse("link missing", ", ".join(missing))
        self._bad = {stamp for stamp in self._bad if stamp > stamp_ns}
        self.applied_stamp_ns = stamp_ns
        self.applied += 1
        return newest

    def health(self, now_ns: int) -> Health:
        """Say which inertias are in force.

        Args:
            now_ns: Time on the clock of the stamps [ns].
        """
        values = {"sets applied": str(self.applied)}
        values |= {f"refused: {reason}": str(count) for reason, count in sorted(self.refused.items())}
        if self._last_refusal:
            values["last refusal"] = self._last_refusal
        if not self._links:
            return Health("link_inertias", HealthLevel.OK, "nominal inertias: no link is expected", values)
        if self.applied_stamp_ns is None:
            message = "nominal inertias: no complete set has arrived"
            return Health("link_inertias", HealthLevel.WARN, message, values)
        age = seconds(now_ns - self.applied_stamp_ns)
        values["age [s]"] = f"{age:.3f}"
        if age > self.timeout:
            message = f"inertias stopped {age:.2f} s ago: the last ones are kept"
            return Health("link_inertias", HealthLevel.WARN, message, values)
        return Health("link_inertias", HealthLevel.OK, "estimated inertias in force", values)

    def _refuse(self, reason: str, detail: str) -> None:
        self.refused[reason] += 1
        self._last_refusal = f"{reason}: {detail}"


def _problem(inertia: LinkInertia) -> str:
    shapes = (np.shape(inertia.com_L), np.shape(inertia.inertia_Lcm))
    if shapes != ((3,), (3, 3)):
        return f"shapes {shapes}, expected (3,) and (3, 3)"
    numbers = np.concatenate(([inertia.mass], inertia.com_L, np.ravel(inertia.inertia_Lcm)))
    if not np.isfinite(numbers).all():
        return "not finite"
    value = InertialParameters(inertia.mass, inertia.com_L, inertia.inertia_Lcm)
    return "; ".join(value.violations())
