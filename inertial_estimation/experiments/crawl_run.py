"""A quadruped that crawls while a load is put on its trunk: truth and estimates, tick by tick."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.closed_loop.time_series import TimeSeries
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.control.support_polygon import convex_hull
from inertial_estimation.control.support_target import GaitPhase
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.simulation.disturbances import Attachment
from inertial_estimation.simulation.ground_truth import GroundTruth
from inertial_estimation.simulation.payload import ball
from inertial_estimation.spatial.rotations import roll_pitch_of, rotation_from_quaternion

IN_AIR = 10.0  # vertical force below which a foot does not support [N]
ENDLESS_SWINGS = 1_000  # commanded swings, more than a run has, and no more than `walking.most_steps`
MASS_SIGMA, COM_SIGMA, OFFSET_SIGMA, BIAS_SIGMA = 0.03, 0.003, 1.0, 0.05
Believed = Callable[[ClosedLoop], LinkInertia | None]
"""Returns the estimate of the trunk; None before the first one."""


@dataclass(frozen=True)
class CrawlSchedule:
    """What happens; times from the release.

    Attributes:
        trunk: Link of the trunk.
        stride: Length of a foot's step [m].
        begin_s: When it sets out [s].
        load_s: When the load is there [s].
        duration_s: Length of the run [s].
    """

    trunk: str
    stride: float
    begin_s: float
    load_s: float
    duration_s: float


class EventKind(Enum):
    """What can happen in a run."""

    LOADED = "loaded"  # the first three are the kinds of a `LoadChange`
    UNLOADED = "unloaded"
    SHIFTED = "shifted"
    HELD = "held"  # the identification requests that the robot stand
    RESUMED = "resumed"  # the robot may walk on
    REFUSED = "refused"  # the identification is given up


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        time_s: When, from the release [s].
        kind: What it was.
        what: Description with numbers.
    """

    time_s: float
    kind: EventKind
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class CrawlRun:
    """What one run gave.

    Attributes:
        load_s: When the load came [s].
        fell_s: When the robot fell [s]; None if it did not.
        ended_s: When the run ended [s].
        swings: Feet that landed after the load came.
        events: In order of time: load change, hold, refusals.
        columns: By name, shape (n,) each: time [s]; ahead, aside (of the base against the start) [m];
            roll, pitch (true) [rad]; margin (distance of the true centre of mass from the edge of the polygon
            of the loaded feet, seen from above, negative outside) [m]; x, y, z, mass (true trunk in its link
            frame) [m, kg]; x_hat, y_hat, z_hat, mass_hat (estimated); x_used ... (in the controller);
            hold, swinging (0 or 1).
    """

    load_s: float
    fell_s: float | None
    ended_s: float
    swings: int
    events: tuple[Event, ...]
    columns: dict[str, Array]

    def error_xy(self, kind: str = "hat") -> Array:
        """Return the horizontal distance of an estimated centre of mass from the true one [m], shape (n,).

        Args:
            kind: "hat" for the estimate, "used" for what the controller has.
        """
        c = self.columns
        return np.hypot(c[f"x_{kind}"] - c["x"], c[f"y_{kind}"] - c["y"])


def load_on_trunk(robot: RobotModel, trunk: str, force: float, point_B: Array, start_s: float) -> Attachment:
    """Return a weight of a given force at a point of the base frame, put on the trunk at a time.

    Args:
        robot: The robot.
        trunk: Link of the trunk, fixed to the base.
        force: Its weight [N].
        point_B: Its place in the base frame [m], shape (3,).
        start_s: When it is put on, from the release [s].
    """
    T_TB = robot.fixed_transform(trunk, robot.base_link)
    return Attachment(ball(trunk, force / STANDARD_GRAVITY, tuple(T_TB.act(point_B))), start=start_s)


def identified_trunk(loop: ClosedLoop) -> LinkInertia | None:
    """Return the trunk as it is identified; None before the first identification."""
    return None if loop.identified is None else loop.identified.trunk


def perturbed_robot(robot: RobotLoop, seed: int) -> tuple[str, Overrides]:
    """Return a robot that differs from the model of estimators and controller, as a real robot does.

    Masses of all links off by 3 % and centres of mass by 3 mm (the trunk's too), torques of all joints by
    1 Nm, sensed at the motor, accelerometer biased by 0.05 m/s^2 an axis; all normal.

    Args:
        robot: The robot as described.
        seed: Of the deviations.

    Returns:
        URDF of the true robot, and what the simulation differs in.
    """
    rng = default_rng([seed, 1])
    urdf = perturbed_urdf(robot.urdf, rng, mass_sigma=MASS_SIGMA, com_sigma=COM_SIGMA)
    names = robot.inertial().robot.joint_names
    return urdf, {
        SIMULATOR_NODE: {
            "nominal_friction.joints": names,
            "nominal_friction.offset": tuple((OFFSET_SIGMA * rng.standard_normal(len(names))).tolist()),
            "sensors.effort_at": "motor",
            "sensors.specific_force_bias": tuple((BIAS_SIGMA * rng.standard_normal(3)).tolist()),
        }
    }


def crawl_run(
    loop: ClosedLoop, plan: CrawlSchedule, estimated: Believed, used: Believed, *, hoist_s: float
) -> CrawlRun:
    """Release the robot, let it crawl, record until the end or a fall.

    Args:
        loop: A quadruped on its hoist; its disturbances bring the load at `plan.load_s`.
        plan: The commanded walk.
        estimated: Where the estimate comes from.
        used: Where the controller's trunk comes from.
        hoist_s: Time on the hoist [s].

    Returns:
        The record.
    """
    loop.release(hoist_s)
    recorder = _Recorder(loop, plan, estimated, used)
    loop.run(plan.duration_s, recorder.tick)
    fell = loop.time_s if loop.simulation.fallen else None
    return CrawlRun(
        plan.load_s,
        fell,
        loop.time_s,
        recorder.swings,
        tuple(recorder.events),
        dict(recorder.series.columns()),
    )


def columns_of(outcomes: Sequence[Any]) -> dict[str, Array]:
    """Return the fields of dataclasses of numbers as columns, shape (n,) each, by name."""
    names = [field.name for field in fields(outcomes[0])]
    return {name: np.array([getattr(one, name) for one in outcomes]) for name in names}


class _Recorder:
    """Asks for the walk and writes down what happens."""

    def __init__(self, loop: ClosedLoop, plan: CrawlSchedule, estimated: Believed, used: Believed) -> None:
        self.series = TimeSeries()
        self.events: list[Event] = []
        self.swings = 0
        self._plan, self._estimated, self._used = plan, estimated, used
        self._start = loop.simulation.truth().base.p_WB
        self._asked = self._held = False
        self._steps = 0
        self._refusal = ""

    def tick(self, loop: ClosedLoop) -> None:
        """Called after every tick of the loop."""
        plan, t = self._plan, loop.time_s
        if not self._asked and t >= plan.begin_s:
            loop.controller.push_walk_command(WalkCommand(ENDLESS_SWINGS, plan.stride))
            self._asked = True
        self._watch(loop)
        if t - self.series.last_time_s > 0.01:
            self._record(loop)

    def _watch(self, loop: ClosedLoop) -> None:
        steps = loop.controller.controller.gait.steps_made
        if steps > self._steps and loop.time_s >= self._plan.load_s:
            self.swings += steps - self._steps
        self._steps = steps
        estimate = loop.identified
        if estimate is None:
            return
        if estimate.change is not None:
            change = estimate.change
            masses = f"{change.mass_before:.1f} -> {change.mass_measured:.1f} kg"
            self._note(loop, EventKind(change.kind), f"{change.kind}: {masses}")
        if estimate.hold != self._held:
            self._held = estimate.hold
            if estimate.hold:
                self._note(loop, EventKind.HELD, "asked to stand")
            else:
                self._note(loop, EventKind.RESUMED, "goes on")
        if estimate.refusal and estimate.refusal != self._refusal:
            self._note(loop, EventKind.REFUSED, f"given up: {estimate.refusal}")
        self._refusal = estimate.refusal

    def _note(self, loop: ClosedLoop, kind: EventKind, what: str) -> None:
        self.events.append(Event(loop.time_s, kind, what))

    def _record(self, loop: ClosedLoop) -> None:
        truth, trunk = loop.simulation.truth([self._plan.trunk]), self._plan.trunk
        roll, pitch = roll_pitch_of(rotation_from_quaternion(truth.base.quaternion_xyzw))
        ahead, aside, _ = truth.base.p_WB - self._start
        last = loop.controller.last
        self.series.add(
            loop.time_s,
            ahead=ahead,
            aside=aside,
            roll=roll,
            pitch=pitch,
            margin=_margin(truth),
            hold=float(self._held),
            swinging=float(last is not None and last.phase is GaitPhase.SWING),
            **_columns(truth.inertias[trunk], ""),
            **_columns(self._estimated(loop), "_hat"),
            **_columns(self._used(loop), "_used"),
        )


def _columns(trunk: LinkInertia | None, suffix: str) -> dict[str, float]:
    x, y, z = (np.nan,) * 3 if trunk is None else trunk.com_L.tolist()
    mass = np.nan if trunk is None else trunk.mass
    return {f"x{suffix}": x, f"y{suffix}": y, f"z{suffix}": z, f"mass{suffix}": mass}


def _margin(truth: GroundTruth) -> float:
    """Distance of the true centre of mass from the nearest edge of the loaded feet's polygon [m]."""
    loaded = [
        (x, y)
        for name, points in truth.points_W.items()
        if np.linalg.norm(truth.wrenches_C[name][:3]) > IN_AIR
        for x, y, _ in points.tolist()
    ]
    corners = np.array(convex_hull(loaded)) if loaded else np.zeros((0, 2))
    if len(corners) < 3:
        return float("nan")
    along = np.roll(corners, -1, axis=0) - corners
    inwards = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    return float(((truth.com_W[:2] - corners) * inwards).sum(axis=1).min())
