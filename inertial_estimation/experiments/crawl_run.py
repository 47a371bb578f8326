"""A quadruped that crawls while a load is put on its trunk: truth and estimates, tick by tick."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from inertial_estimation.closed_loop.closed_loop import HOIST_S, ClosedLoop, walk_at
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.control.balance import convex_hull, edge_distance
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.experiments.result import over_time
from inertial_estimation.figures import Panel, Span
from inertial_estimation.models.contacts import FOOT_SHARE
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.simulation.disturbances import Attachment, ball
from inertial_estimation.simulation.simulation import GroundTruth
from inertial_estimation.spatial.rotations import roll_pitch_of, rotation_from_quaternion

RECORD_S = 0.01  # smallest time between two rows of a record [s]
TrunkSource = Callable[[ClosedLoop], LinkInertia | None]
"""Returns the estimate of the trunk; None before the first one."""


class CrawlSchedule(NamedTuple):
    """Schedule of a run; times count from the release [s]."""

    trunk: str  # link of the trunk
    stride: float  # length of a foot's step [m]
    begin_s: float  # start of the walk
    load_s: float  # time at which the load is put on
    duration_s: float  # duration of the run


class CrawlRun(NamedTuple):
    """Result of one run, until its end or a fall.

    The columns are, by name, shape (n,) each: time [s]; ahead (of the base against the start) [m]; roll,
    pitch (true) [rad]; margin (distance of the true centre of mass from the edge of the polygon of the loaded
    feet, seen from above, negative outside) [m]; x, y, z, mass (true trunk in its link frame) [m, kg]; x_hat
    ... mass_hat (estimated); x_used ... (in the controller); swings (feet that have landed); found (loads
    found); hold (0 or 1: whether the robot is requested to stand).
    """

    load_s: float  # time at which the load was put on, from the release [s]
    ended_s: float  # time of the end of the run, from the release [s]
    fallen: bool  # whether the robot fell
    refusals: tuple[str, ...]  # reasons why identifications were given up
    columns: Mapping[str, Array]

    def error_xy(self, kind: str = "hat") -> Array:
        """Return the horizontal error of the centre of mass in columns "hat" or "used" [m], shape (n,)."""
        c = self.columns
        return np.hypot(c[f"x_{kind}"] - c["x"], c[f"y_{kind}"] - c["y"])


def load_on_trunk(
    robot: RobotModel, trunk: str, force: float, point_B: Sequence[float], start_s: float
) -> Attachment:
    """Return a load of a weight [N] at a point of the base frame [m], attached at a time from the release."""
    T_TB = robot.fixed_transform(trunk, robot.base_link)
    return Attachment(ball(trunk, force / STANDARD_GRAVITY, tuple(T_TB.act(np.array(point_B)))), start_s)


def identified_trunk(loop: ClosedLoop) -> LinkInertia | None:
    """Return the published trunk of the identification; None before its first estimate."""
    return None if loop.identified is None else loop.identified.trunk


def perturbed_masses(urdf: str, rng: Generator) -> str:
    """Return a URDF with normal errors of masses (sigma 3 %) and of centres of mass (sigma 3 mm)."""
    return perturbed_urdf(urdf, rng, mass_sigma=0.03, com_sigma=0.003)


def perturbed_robot(robot: RobotLoop, seed: int) -> tuple[str, Overrides]:
    """Return a robot that differs from the model of estimators and controller, as a real robot does.

    All errors are normal: those of masses and centres of mass of all links including the trunk, of the torque
    of every joint (sigma 1 Nm, sensed at the motor), and of the accelerometer (sigma 0.05 m/s^2 an axis). The
    result is the URDF of the true robot, and the overrides of the simulation.
    """
    rng = default_rng([seed, 1])
    urdf, names = perturbed_masses(robot.urdf, rng), robot.inertial().robot.joint_names
    offsets, bias = rng.standard_normal(len(names)), 0.05 * rng.standard_normal(3)
    return urdf, {
        SIMULATOR_NODE: {
            "nominal_friction.joints": names,
            "nominal_friction.terms": ("offset",),
            "nominal_friction.values": tuple(offsets.tolist()),
            "sensors.effort_at": "motor",
            "sensors.specific_force_bias": tuple(bias.tolist()),
        }
    }


def crawl_run(
    loop: ClosedLoop,
    plan: CrawlSchedule,
    estimated: TrunkSource = identified_trunk,
    used: TrunkSource = identified_trunk,
    *,
    hoist_s: float = HOIST_S,
) -> CrawlRun:
    """Release the robot after a time on its hoist, let it crawl, record until the end or a fall.

    The load, at `plan.load_s`, is a disturbance of the loop. The trunk is recorded as it is estimated and as
    the controller uses it.
    """
    loop.release(hoist_s)
    start, refusals = loop.simulation.truth().base.p_WB, dict[str, None]()
    walk = walk_at(plan.begin_s, WalkCommand(sys.maxsize, plan.stride))
    recorded_s = -np.inf

    def look(loop: ClosedLoop) -> dict[str, float]:
        nonlocal recorded_s
        walk(loop)
        identified = loop.identified
        if identified is not None and identified.refusal:
            refusals[identified.refusal] = None
        if loop.time_s - recorded_s <= RECORD_S:
            return {}
        recorded_s, truth = loop.time_s, loop.simulation.truth([plan.trunk])
        roll, pitch = roll_pitch_of(rotation_from_quaternion(truth.base.quaternion_xyzw))
        return {
            "ahead": float(truth.base.p_WB[0] - start[0]),
            "roll": roll,
            "pitch": pitch,
            "margin": _margin(truth),
            "swings": float(loop.controller.controller.gait.steps_made),
            "found": float(sum(change.kind == "loaded" for change in loop.load_changes)),
            "hold": float(identified is not None and identified.hold),
            **trunk_columns(truth.inertias[plan.trunk], ""),
            **trunk_columns(estimated(loop), "_hat"),
            **trunk_columns(used(loop), "_used"),
        }

    columns = loop.record(plan.duration_s, look)
    return CrawlRun(plan.load_s, loop.time_s, loop.simulation.fallen, tuple(refusals), columns)


def trunk_columns(trunk: LinkInertia | None, suffix: str) -> dict[str, float]:
    """Return x, y, z [m] and mass [kg] of a trunk by column name; NaN for None."""
    x, y, z = (np.nan,) * 3 if trunk is None else trunk.com_L.tolist()
    mass = np.nan if trunk is None else trunk.mass
    return {f"x{suffix}": x, f"y{suffix}": y, f"z{suffix}": z, f"mass{suffix}": mass}


def _margin(truth: GroundTruth) -> float:
    """Distance of the true centre of mass from the nearest edge of the loaded feet's polygon [m]."""
    loaded = [
        (x, y)
        for name, points in truth.points_W.items()
        if np.linalg.norm(truth.wrenches_C[name][:3]) > FOOT_SHARE * STANDARD_GRAVITY * truth.total_mass
        for x, y, _ in points.tolist()
    ]
    x, y = truth.com_W[:2].tolist()
    return edge_distance(loaded, (x, y)) if len(convex_hull(loaded)) > 2 else float("nan")


class WalkOutcome(NamedTuple):
    """Numbers of one run, times since the load was put on [s]; NaN for events that did not occur."""

    fell: float  # time of the fall
    walked: float  # time until the end of the run
    swings: float  # number of feet that landed
    detected: float  # time at which the load change was detected
    stood: float  # duration of the stand for the identification
    error: float  # median error of the centre of mass in x and y after the stand [mm]
    mass_error: float  # median error of the trunk's mass after the stand [%]
    margin: float  # least distance of the true centre of mass from the support's edge after the stand [mm]
    speed: float  # mean speed after the stand [m/s]


def walk_outcome(run: CrawlRun) -> WalkOutcome:
    """Return the numbers of a run."""
    c, t = run.columns, run.columns["time"] - run.load_s
    found_s = _first(t, (t >= 0.0) & (np.diff(c["found"], prepend=0.0) > 0.0))
    resumed_s = _first(t, (t >= found_s) & (np.diff(c["hold"], prepend=0.0) < 0.0))
    after = t > resumed_s
    later = (np.nan,) * 4
    if after.sum() > 1:
        share = np.abs(c["mass_hat"] / c["mass"] - 1.0)[after]
        speed = float(np.ptp(c["ahead"][after]) / np.ptp(t[after]))
        error, margin = np.median(run.error_xy()[after]), np.nanmin(c["margin"][after])
        later = (1e3 * float(error), 100.0 * float(np.median(share)), 1e3 * float(margin), speed)
    swings = float(c["swings"][-1] - c["swings"][int(np.argmax(t >= 0.0))])
    walked = run.ended_s - run.load_s
    return WalkOutcome(walked if run.fallen else np.nan, walked, swings, found_s, resumed_s - found_s, *later)


def _first(times: Array, which: NDArray[np.bool_]) -> float:
    """Return the first of the selected times; NaN if none is."""
    return float(times[which.argmax()]) if which.any() else np.nan


def outcomes(runs: Sequence[CrawlRun]) -> dict[str, Array]:
    """Return the numbers of runs by name, shape (n,) each."""
    columns = np.array([walk_outcome(run) for run in runs]).T
    return dict(zip(WalkOutcome._fields, columns, strict=True))


def trunk_panels(
    c: Mapping[str, Array], estimates: Mapping[str, tuple[str, str]], spans: Sequence[Span], seed: int
) -> list[Panel]:
    """Return centre of mass and mass of the trunk over time.

    Args:
        c: Columns of a run.
        estimates: Suffix of the columns ("hat", "used") and style of each curve, by label.
        spans: Shaded intervals.
        seed: Seed of the run.
    """
    t, com = c["time"], list[tuple[object, ...]]()
    for i, axis in enumerate("xy"):
        com.append((f"true {axis}", t, 1e3 * c[axis], "reference", i))
        for name, (columns, style) in estimates.items():
            com.append((f"{name} {axis}", t, 1e3 * c[f"{axis}_{columns}"], style, i))
    name, (columns, style) = next(iter(estimates.items()))
    mass = ("true", t, c["mass"], "reference"), (name, t, c[f"mass_{columns}"], style, 2)
    return [
        over_time(f"Trunk's centre of mass (seed {seed})", "[mm]", *com, spans=spans),
        over_time("Trunk's mass", "[kg]", *mass, spans=spans),
    ]
