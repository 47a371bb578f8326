"""Requests of a user to the controller, checked, and the smooth references that converge to them."""

from dataclasses import dataclass, replace

import numpy as np

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.models.contacts import FALLEN_RAD
from inertial_estimation.models.joint_limits import JointLimits
from inertial_estimation.models.measurement_rows import Indices
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import Array, BaseReference, JointReading

# Largest rates of the references of base height [m/s], base angles and joints [rad/s].
HEIGHT_RATE, ANGLE_RATE, JOINT_RATE = 0.3, 1.0, 2.5
SMOOTH_S = 0.25  # time in which a reference reaches its largest rate, and a ground plane its new fit
GAP_S = 0.1  # time after which the rate of an old target counts as zero, and control restarts without a state
HEIGHT_RANGE = 0.3, 1.3  # range of a requested height, as shares of the height in the home posture
# Share of a limit within which a request is accepted, and a state again after it exceeded the limit; share of
# the height in the home posture from which on a robot, perhaps on a slope, counts as being in that posture.
RETURN_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class WalkCommand:
    """Steps to take from now on; the command replaces the rest of an earlier one."""

    steps: int  # number of steps; 0 stops after the step that is under way
    length: float = 0.0  # distance of one step forward [m]; 0: in place. The last step closes the feet.

    def __post_init__(self) -> None:
        if self.steps < 0 or not np.isfinite(self.length):
            raise MeasurementError(
                f"walk command of {self.steps} steps of {self.length} m, expected 0 or more steps of a "
                "finite length"
            )


class SmoothReference:
    """Follows a target with bounded rate and acceleration.

    A target that moves within the bounds is followed exactly, without lag; after a jump of the target, the
    reference accelerates, cruises and brakes so that it stops on the target.

    Attributes:
        position: Reference now, shape (n,).
        rate: Its rate now, shape (n,).
        acceleration: Its acceleration now, shape (n,): of the approach, or of the target's rates.
    """

    def __init__(self, start: Array, max_rate: float, max_acceleration: float) -> None:
        """Begin at rest at a value, shape (n,)."""
        self._max_rate, self._max_acceleration = max_rate, max_acceleration
        self.position = np.array(start, dtype=float)
        self.rate, self.acceleration = np.zeros((2, len(self.position)))
        self._target = self.position.copy()
        self._target_rate, self._target_acceleration = np.zeros((2, len(self.position)))
        self._arrived, self._age = True, np.zeros(len(self.position))  # time since each target was set [s]

    def set_target(
        self, target: Array, rate: Array | float = 0.0, which: Indices | slice = slice(None)
    ) -> None:
        """Set the target of some or all coordinates.

        Args:
            target: Shape (k,).
            rate: Rate at which the target itself moves, shape (k,). A target that is not renewed within
                `GAP_S` stands still.
            which: Indices of the coordinates.
        """
        age, limit = self._age[which], self._max_acceleration
        change = np.clip((rate - self._target_rate[which]) / np.maximum(age, 1e-9), -limit, limit)
        renewed = (age > 0.0) & (age <= GAP_S)
        self._target_acceleration[which] = np.where(renewed, change, self._target_acceleration[which])
        self._target[which], self._target_rate[which], self._age[which] = target, rate, 0.0
        self._arrived = False

    def step(self, h: float) -> None:
        """Advance by a time step [s]."""
        if h <= 0.0:
            return
        self._age += h
        old = self._age > GAP_S
        if self._target_rate[old].any() or self._target_acceleration[old].any():
            self._target_rate[old] = self._target_acceleration[old] = 0.0
            self._arrived = False
        if not self._arrived:
            self._approach(h)

    def _approach(self, h: float) -> None:
        """Advance by h; v = a h (sqrt(1/4 + 2 |e| / (a h^2)) - 1/2) is the rate that can brake in time."""
        a = self._max_acceleration
        error = self._target - self.position - h * self._target_rate
        distance = np.abs(error)
        braking = a * h * (np.sqrt(0.25 + 2.0 * distance / (a * h * h)) - 0.5)
        wanted = self._target_rate + np.sign(error) * np.minimum(braking, distance / h)
        wanted = np.clip(wanted, -self._max_rate, self._max_rate)
        rate = np.clip(wanted, self.rate - a * h, self.rate + a * h)
        position = self.position + h * rate
        near = np.abs(self._target - position) <= 0.5 * a * h * h
        arrived = near & (np.abs(rate - self._target_rate) <= a * h)
        self.acceleration = np.where(arrived, self._target_acceleration, (rate - self.rate) / h)
        self.position = np.where(arrived, self._target, position)
        self.rate = np.where(arrived, self._target_rate, rate)
        self._arrived = bool(arrived.all())


class References:
    """Smooth references: height, roll and pitch of the base, positions of the joints.

    They start from the measured state, so that nothing jumps when the controller takes over; without a
    request, the joints then move to the home posture and the base becomes upright. A bad request is refused
    as a whole.

    Attributes:
        joints: Positions of the joints.
        height: Height of the base above the support, one number.
        tilt: Roll and pitch of the base.
        home_height: Height of the base above the support in the home posture [m]; 0: the base is fixed.
        refused: Number of requests refused, walks included.
        last_refusal: Why the last one was refused; empty where none was.
    """

    def __init__(self, robot: RobotModel, limits: JointLimits, home: Array, home_height: float) -> None:
        """Begin without a request.

        Args:
            robot: The robot.
            limits: Limits of its joints in the URDF.
            home: Joint positions of the home posture [rad], shape (n_joints,).
            home_height: Height of the base above the support in the home posture [m].
        """
        self._robot, self._limits = robot, limits
        self._home, self.home_height = home, home_height
        self.reset()

    def reset(self) -> None:
        """Discard all requests and the count of refusals."""
        self.refused = 0
        self.last_refusal = ""
        self._requested_base: BaseReference | None = None
        self._first_height: float | None = None
        self._requested_joints = self._home.copy()
        self._start(self._home, self.home_height, 0.0, 0.0)

    def restart(self, q: Array, height: float, roll: float, pitch: float) -> None:
        """Start the references from the measured state; earlier requests remain in force.

        Without a requested height, the target is the height at the first start, or that of the home posture
        if the robot was not near that posture then (crouched or stretched).

        Args:
            q: Joint positions [rad], shape (n_joints,).
            height: Height of the base above the support [m].
            roll: Roll of the base [rad].
            pitch: Pitch of the base [rad].
        """
        self._start(q, height, roll, pitch)
        if self._first_height is None:
            at_home = abs(height - self.home_height) <= (1.0 - RETURN_SHARE) * self.home_height
            self._first_height = height if at_home else self.home_height
        self.height.set_target(np.array([self._first_height]))
        self.tilt.set_target(np.zeros(2))
        self.joints.set_target(self._requested_joints)
        self._aim_base()

    def step(self, h: float) -> None:
        """Advance by a time step [s]."""
        for reference in (self.joints, self.height, self.tilt):
            reference.step(h)

    def refuse(self, reason: str) -> None:
        """Count a request that is refused."""
        self.refused += 1
        self.last_refusal = reason

    def request_joints(self, reading: JointReading) -> None:
        """Take targets of joints by name; positions are clipped to the joints' limits."""
        problem = self._joint_problem(reading)
        if problem:
            self.refuse(f"joint reference of {listing(reading.names, limit=3)}: {problem}")
            return
        indices = np.array([self._robot.joint_index(name) for name in reading.names], dtype=int)
        position = np.clip(reading.position, self._limits.lower[indices], self._limits.upper[indices])
        limit, rate = JOINT_RATE, reading.velocity
        self._requested_joints[indices] = position
        self.joints.set_target(position, 0.0 if rate is None else np.clip(rate, -limit, limit), indices)

    def request_base(self, reference: BaseReference) -> None:
        """Take a target pose of the base; refused if it is out of reach."""
        problem = self._base_problem(reference)
        if problem:
            self.refuse(f"base reference: {problem}")
            return
        limits = {"height_rate": HEIGHT_RATE}
        limits |= dict.fromkeys(("roll_rate", "pitch_rate"), ANGLE_RATE)
        bounded = {name: float(np.clip(getattr(reference, name), -m, m)) for name, m in limits.items()}
        self._requested_base = replace(reference, **bounded)
        self._aim_base()

    def _start(self, q: Array, height: float, roll: float, pitch: float) -> None:
        self.joints, self.height, self.tilt = (
            SmoothReference(start, rate, rate / SMOOTH_S)
            for start, rate in (
                (q, JOINT_RATE),
                (np.array([height]), HEIGHT_RATE),
                (np.array([roll, pitch]), ANGLE_RATE),
            )
        )

    def _aim_base(self) -> None:
        base = self._requested_base
        if base is not None:
            self.height.set_target(np.array([base.height]), np.array([base.height_rate]))
            rates = np.array([base.roll_rate, base.pitch_rate])
            self.tilt.set_target(np.array([base.roll, base.pitch]), rates)

    def _joint_problem(self, reading: JointReading) -> str:
        """Return why a joint reference is refused; empty if it is not."""
        unknown = [name for name in reading.names if name not in self._robot.joint_names]
        if unknown:
            return f"no joint {listing(unknown, limit=3)}"
        if len(set(reading.names)) < len(reading.names):
            return "a joint is named twice"
        rates = [] if reading.velocity is None else [reading.velocity]
        if not np.isfinite(np.concatenate([reading.position, *rates])).all():
            return "not finite"
        return ""

    def _base_problem(self, reference: BaseReference) -> str:
        """Return why a base reference is refused; empty if it is not."""
        if not self._robot.floating_base:
            return "the base is fixed"
        low, high = (share * self.home_height for share in HEIGHT_RANGE)
        if not low <= reference.height <= high:
            return f"height {reference.height:.4g} m, expected {low:.3g} to {high:.3g} m"
        angle = max(abs(reference.roll), abs(reference.pitch))
        if not angle <= RETURN_SHARE * FALLEN_RAD:
            return f"an angle of {angle:.4g} rad, expected at most {RETURN_SHARE * FALLEN_RAD:g} rad"
        return ""
