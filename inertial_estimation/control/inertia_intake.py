"""Receives estimated inertias, all links of a stamp or none, and estimated errors of the model's torques."""

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from inertial_estimation.inputs.config import JUMP_NS
from inertial_estimation.models.measurement_rows import BASE_ROWS
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.sensor_errors import weight_of
from inertial_estimation.signals import NANOSECONDS, Array, LinkInertia, seconds
from inertial_estimation.spatial.inertial_parameters import InertialParameters

MOST_MASS = 2.0  # largest plausible mass added to a body's mass in the URDF, in multiples of the robot's mass
EXTENT_M = 2.0  # largest plausible coordinate of a centre of mass in its link, and radius of gyration
MAX_PENDING = 64  # sets of inertias that are not complete, and joint states that wait for inertias
LARGEST_SHARE = 0.1  # largest plausible error of the model, as a share of a torque limit or of the weight


class InertiaIntake:
    """Collects the inertias of one stamp and hands them over once those of all expected links have arrived.

    A set is refused as a whole when one of its inertias is inconsistent or implausible, or when a newer set
    is complete before it. An inertia is refused when its link is not expected, or its stamp is not newer than
    that in force or far ahead of the joint states.

    Attributes:
        links: The expected links.
        applied_ns: Stamp of the set in force [ns]; None: the nominal inertias.
        applied: Number of sets handed over.
        refused: Number of inertias and sets refused, by reason.
        refusal: Text of the last refusal; empty if there was none.
        refusal_ns: Stamp of the joint states at the last refusal [ns]; None if there was none.
    """

    def __init__(self, nominal_masses: Mapping[str, float], total_mass: float) -> None:
        """Begin with the nominal inertias.

        Args:
            nominal_masses: Mass of the body of each expected link [kg].
            total_mass: Mass of the robot [kg].
        """
        self.links = tuple(nominal_masses)
        most = MOST_MASS * total_mass
        self._largest = {link: mass + most for link, mass in nominal_masses.items()}
        self.reset()

    def reset(self) -> None:
        """Discard all sets; the nominal inertias are in force."""
        self.applied = 0
        self.applied_ns: int | None = None
        self.refused: Counter[str] = Counter()
        self.refusal = ""
        self.refusal_ns: int | None = None
        self._judged_ns = -math.inf  # newest stamp of a set that was handed over or refused
        self._sets: dict[int, dict[str, LinkInertia] | None] = {}  # by stamp; None: one of them was refused

    def push(self, stamp_ns: int, inertia: LinkInertia, joints_ns: int | None = None) -> None:
        """Take the inertia of one link; never raises on a bad one.

        Args:
            stamp_ns: Stamp shared by all links of one estimate [ns].
            inertia: Inertia of the body of a link.
            joints_ns: Stamp of the joint state answered last [ns]; None before the first.
        """
        now_ns = stamp_ns if joints_ns is None else joints_ns
        if self._judged_ns > now_ns + JUMP_NS:  # the clock has been set back since
            self._judged_ns, self._sets = -math.inf, {}
        if inertia.link not in self.links:
            self._refuse("link not expected", f"'{inertia.link}'", now_ns)
        elif self.applied_ns is not None and stamp_ns <= self.applied_ns <= now_ns + JUMP_NS:
            self._refuse("stamp not newer", f"{stamp_ns} ns after {self.applied_ns} ns", now_ns)
        elif stamp_ns - now_ns > JUMP_NS:  # the stamp is of another clock
            lead = f"{seconds(stamp_ns - now_ns):.4g} s ahead of the joint states"
            self._refuse("stamp ahead", f"'{inertia.link}': {lead}", now_ns)
        elif problem := self._problem(inertia):
            self._sets[stamp_ns] = None
            self._judged_ns = max(stamp_ns, self._judged_ns)
            self._refuse(*problem, now_ns)
        elif (found := self._sets.setdefault(stamp_ns, {})) is not None:
            found[inertia.link] = inertia
        while len(self._sets) > MAX_PENDING:
            oldest = self._sets.pop(min(self._sets))
            if oldest is not None and len(oldest) < len(self.links):
                self._refuse("link missing", "too many incomplete sets", now_ns)

    def pop(self) -> Mapping[str, LinkInertia] | None:
        """Return the newest complete set, once; older incomplete ones are refused.

        Returns:
            Inertias by link; None if there is no new complete set.
        """
        complete = [s for s, found in self._sets.items() if found and len(found) == len(self.links)]
        if not complete:
            return None
        stamp_ns = max(complete)
        newest = self._sets.pop(stamp_ns)
        for older in [s for s in self._sets if s < stamp_ns]:
            found = self._sets.pop(older)
            missing = [] if found is None else [link for link in self.links if link not in found]
            if missing:
                self._refuse("link missing", ", ".join(missing), stamp_ns)
        self._judged_ns = max(stamp_ns, self._judged_ns)
        self.applied_ns = stamp_ns
        self.applied += 1
        return newest

    def is_awaited(self, stamp_ns: int, max_age: float, timeout: float) -> bool:
        """Return whether inertias recent enough for a joint state are still awaited.

        Args:
            stamp_ns: Stamp of the joint state [ns].
            max_age: Largest age of the inertias at that stamp [s]; 0: any.
            timeout: Age of the last set from which on no further set is expected [s].
        """
        return bool(max_age) and max_age < (stamp_ns - self._judged_ns) / NANOSECONDS <= timeout

    def _problem(self, inertia: LinkInertia) -> tuple[str, str] | None:
        """Return reason and details if an inertia is inconsistent or implausible for its link; else None."""
        link, shapes = f"'{inertia.link}'", (np.shape(inertia.com_L), np.shape(inertia.inertia_Lcm))
        if shapes != ((3,), (3, 3)):
            return "inconsistent", f"{link}: shapes {shapes}, expected (3,) and (3, 3)"
        numbers = np.concatenate(([inertia.mass], inertia.com_L, np.ravel(inertia.inertia_Lcm)))
        if not np.isfinite(numbers).all():
            return "inconsistent", f"{link}: not finite"
        violations = InertialParameters(inertia.mass, inertia.com_L, inertia.inertia_Lcm).violations()
        if violations:
            return "inconsistent", f"{link}: {'; '.join(violations)}"
        radius = float(np.sqrt(np.trace(inertia.inertia_Lcm) / inertia.mass))
        for what, value, largest, unit in (
            ("mass", float(inertia.mass), self._largest[inertia.link], "kg"),
            ("distance of the centre of mass", float(np.abs(inertia.com_L).max()), EXTENT_M, "m"),
            ("radius of gyration", radius, EXTENT_M, "m"),
        ):
            if not value <= largest:
                text = f"{what} {value:.4g} {unit}, plausible are at most {largest:.3g} {unit}"
                return "implausible", f"{link}: {text}"
        return None

    def _refuse(self, reason: str, detail: str, now_ns: int) -> None:
        self.refused[reason] += 1
        self.refusal, self.refusal_ns = f"{reason}: {detail}", now_ns


class TorqueErrorIntake:
    """Keeps the newest errors of the model's torques; they vary slowly, so the last ones remain in use.

    Rows are those of the base (`BASE_ROWS`, along and about its axes) and joints. A set is refused as a whole
    when a row is unknown, or an error is not finite or larger than a tenth of the joint's torque limit, or of
    the weight.

    Attributes:
        errors: Errors in force: measured minus modelled force or torque [N, Nm], shape (nv,).
        refused: Number of sets refused, by reason.
        refusal: Why the last set was refused; empty if it was accepted.
    """

    def __init__(self, robot: RobotModel, limits: Array) -> None:
        """Begin with errors of zero; `limits` are those of the joint torques [Nm], shape (n_joints,)."""
        of_base = BASE_ROWS if robot.floating_base else ()
        largest = np.concatenate((np.repeat(weight_of(robot), 3)[: len(of_base)], limits))
        self._largest = dict(
            zip((*of_base, *robot.joint_names), (LARGEST_SHARE * largest).tolist(), strict=True)
        )
        self.reset()

    def reset(self) -> None:
        """Set all errors to zero."""
        self.errors: Array = np.zeros(len(self._largest))
        self.refused: Counter[str] = Counter()
        self.refusal = ""

    def push(self, errors: Mapping[str, float]) -> None:
        """Take errors by row; the error of a row that is not named is zero.

        Args:
            errors: Measured minus modelled force or torque [N, Nm], by base row or joint.
        """
        self.refusal = ""
        if any(name not in self._largest for name in errors):
            self.refusal = "unknown rows"
        elif not all(abs(error) <= self._largest[name] for name, error in errors.items()):  # NaN as well
            self.refusal = "beyond a tenth of torque limits or weight"
        if self.refusal:
            self.refused[self.refusal] += 1
        else:
            self.errors = np.array([errors.get(name, 0.0) for name in self._largest])
