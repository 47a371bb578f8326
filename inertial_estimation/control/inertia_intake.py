"""Takes estimated link inertias: all of one stamp together, or none."""

from collections import Counter
from collections.abc import Mapping

from inertial_estimation.control.inertia_limits import InertiaJumps, InertiaLimits
from inertial_estimation.inputs.possible import REPORTED_NS
from inertial_estimation.signals import NANOSECONDS, Health, HealthLevel, LinkInertia, seconds

MAX_PENDING = 32  # sets kept, and stamps of bad ones remembered
LARGEST_LEAD_NS = 10 * NANOSECONDS  # of a set ahead of the joint states: it is of another clock


class InertiaIntake:
    """Collects the inertias of one stamp and hands them over once all expected links are there.

    A set is refused as a whole when one of its inertias is inconsistent or implausible, of a link not
    expected, not newer than what is in force, far ahead of the joint states, or when a newer set is complete
    before it; complete sets also while they jump again and again.

    Attributes:
        timeout: Age from which the inertias count as stopped [s].
        applied_stamp_ns: Stamp of the set in force [ns]; None: the nominal inertias.
        judged_stamp_ns: Stamp of the newest set that was applied or refused [ns]; None before the first.
        applied: Number of sets handed over.
        refused: Number of inertias and sets refused, by reason.
    """

    def __init__(self, limits: InertiaLimits, timeout: float, *, used: bool = True) -> None:
        """Begin with the nominal inertias.

        Args:
            limits: The expected links, and which inertias they can have.
            timeout: Age from which the inertias count as stopped [s].
            used: Whether the controller computes with them.
        """
        self._used = used
        self._limits = limits
        self._jumps = InertiaJumps(limits.total_mass)
        self.timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Forget everything; the nominal inertias are in force."""
        self.applied_stamp_ns: int | None = None
        self.judged_stamp_ns: int | None = None
        self.applied = 0
        self.refused: Counter[str] = Counter()
        self._pending: dict[int, dict[str, LinkInertia]] = {}
        self._bad: set[int] = set()
        self._jumps.reset()
        self._last_refusal = ""
        self._last_refusal_ns: int | None = None
        self._applied_at_refusal = 0
        self._now_ns = 0

    def push(self, stamp_ns: int, inertia: LinkInertia, joints_ns: int | None = None) -> None:
        """Take the inertia of one link; never raises on a bad one.

        Args:
            stamp_ns: Stamp shared by all links of one estimate [ns].
            inertia: Inertia of the body of a link.
            joints_ns: Stamp of the joint state answered last [ns]; None before the first.
        """
        if inertia.link not in self._limits.links:
            self._now_ns = stamp_ns if joints_ns is None else joints_ns
            self._refuse("link not expected", f"'{inertia.link}'")
        elif self._in_time(stamp_ns, inertia.link, joints_ns) and not self._refused(stamp_ns, inertia):
            self._keep(stamp_ns, inertia)

    def pop(self) -> Mapping[str, LinkInertia] | None:
        """Return the newest complete set, once; older incomplete ones are refused.

        Returns:
            Inertias by link; None if there is no new complete set.
        """
        complete = [s for s, found in self._pending.items() if len(found) == len(self._limits.links)]
        if not complete:
            return None
        stamp_ns = max(complete)
        newest = {link: self._pending[stamp_ns][link] for link in self._limits.links}
        for stamp in [s for s in self._pending if s <= stamp_ns]:
            found = self._pending.pop(stamp)
            missing = [link for link in self._limits.links if link not in found]
            if missing:
                self._refuse("link missing", ", ".join(missing))
        self._bad = {stamp for stamp in self._bad if stamp > stamp_ns}
        self._judged(stamp_ns)
        if self._jumps.too_many(stamp_ns, newest):
            self._refuse("jumping", "the inertias of the last second jump again and again")
            return None
        self.applied_stamp_ns = stamp_ns
        self.applied += 1
        return newest

    def to_come(self, stamp_ns: int, max_age: float) -> bool:
        """Return whether inertias recent enough for a joint state are still awaited.

        Args:
            stamp_ns: Stamp of the joint state [ns].
            max_age: Largest age of the inertias at that stamp [s]; 0: any.
        """
        if not max_age or self.judged_stamp_ns is None:
            return False
        return max_age < seconds(stamp_ns - self.judged_stamp_ns) <= self.timeout

    def health(self, now_ns: int) -> Health:
        """Say which inertias are in force.

        Args:
            now_ns: Time on the clock of the stamps [ns].
        """
        values = {"sets applied": str(self.applied)}
        values |= {f"refused: {reason}": str(count) for reason, count in sorted(self.refused.items())}
        if self._last_refusal:
            values["last refusal"] = self._last_refusal
        if not self._limits.links:
            return Health("link_inertias", HealthLevel.OK, "nominal inertias: no link is expected", values)
        if self.applied_stamp_ns is None:
            message = "nominal inertias: no complete set has arrived"
            return Health("link_inertias", HealthLevel.WARN, message, values)
        age = seconds(now_ns - self.applied_stamp_ns)
        values["age [s]"] = f"{age:.3f}"
        if age > self.timeout:
            message = f"inertias stopped {age:.2f} s ago: the last ones are kept"
            message += f", refused {self._last_refusal}" if self._refused_lately(now_ns) else ""
            return Health("link_inertias", HealthLevel.WARN, message, values)
        if self._refused_lately(now_ns):
            since = self._applied_at_refusal < self.applied
            message = "newer inertias are in force, lately" if since else "the last good inertias are kept,"
            message += f" refused {self._last_refusal}"
            return Health("link_inertias", HealthLevel.WARN, message, values)
        message = (
            "estimated inertias in force" if self._used else "nominal inertias: inertias.applied is false"
        )
        return Health("link_inertias", HealthLevel.OK, message, values)

    def _in_time(self, stamp_ns: int, link: str, joints_ns: int | None) -> bool:
        """Return whether a stamp is newer than that in force, and not of another clock; refuse others."""
        self._now_ns = stamp_ns if joints_ns is None else joints_ns
        if self.applied_stamp_ns is not None and stamp_ns <= self.applied_stamp_ns:
            self._refuse("stamp not newer", f"{stamp_ns} ns after {self.applied_stamp_ns} ns")
            return False
        if joints_ns is not None and stamp_ns - joints_ns > LARGEST_LEAD_NS:
            lead = seconds(stamp_ns - joints_ns)
            self._refuse("stamp ahead", f"'{link}': {lead:.4g} s ahead of the joint states")
            return False
        return True

    def _refused(self, stamp_ns: int, inertia: LinkInertia) -> bool:
        """Refuse an inertia that is inconsistent or implausible, and with it all of its stamp."""
        inconsistent = self._limits.inconsistency(inertia)
        problem = inconsistent or self._limits.implausibility(inertia)
        if problem:
            self._drop_set(stamp_ns)
            self._refuse("inconsistent" if inconsistent else "implausible", f"'{inertia.link}': {problem}")
        return bool(problem)

    def _keep(self, stamp_ns: int, inertia: LinkInertia) -> None:
        """Add an inertia to the set of its stamp."""
        if stamp_ns in self._bad:
            return
        self._pending.setdefault(stamp_ns, {})[inertia.link] = inertia
        while len(self._pending) > MAX_PENDING:
            oldest = self._pending.pop(min(self._pending))
            if len(oldest) < len(self._limits.links):
                self._refuse("link missing", "too many incomplete sets")

    def _refused_lately(self, now_ns: int) -> bool:
        refused_ns = self._last_refusal_ns
        return refused_ns is not None and now_ns - refused_ns < REPORTED_NS

    def _drop_set(self, stamp_ns: int) -> None:
        """Refuse what has come and will come of a stamp."""
        self._bad.add(stamp_ns)
        if len(self._bad) > MAX_PENDING:
            self._bad.remove(min(self._bad))
        self._pending.pop(stamp_ns, None)
        self._judged(stamp_ns)

    def _judged(self, stamp_ns: int) -> None:
        judged = self.judged_stamp_ns
        self.judged_stamp_ns = stamp_ns if judged is None else max(judged, stamp_ns)

    def _refuse(self, reason: str, detail: str) -> None:
        self.refused[reason] += 1
        self._last_refusal = f"{reason}: {detail}"
        self._last_refusal_ns, self._applied_at_refusal = self._now_ns, self.applied
