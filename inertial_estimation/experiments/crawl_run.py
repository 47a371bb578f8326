"""A quadruped that crawls while a load is put on its trunk: truth and estimates, tick by tick."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import Overrides, RobotLoop
from inertial_estimation.closed_loop.scheduled_motions import ScheduledWalk
from inertial_estimation.closed_loop.time_series import TimeSeries
from inertial_estimation.configuration.node_names import SIMULATOR_NODE
from inertial_estimation.control.balance import convex_hull
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.figures import Panel, Span, thinned
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.signals import Array, LinkInertia
from inertial_estimation.simulation.disturbances import Attachment, ball
from inertial_estimation.simulation.simulation import GroundTruth
from inertial_estimation.spatial.rotations import roll_pitch_of, rotation_from_quaternion

IN_AIR = 10.0  # vertical force below which a foot does not support [N]
ENDLESS_SWINGS = 1_000  # commanded swings, more than a run has, and no more than `MOST_STEPS` of a gait
MASS_SIGMA, COM_SIGMA, OFFSET_SIGMA, BIAS_SIGMA = 0.03, 0.003, 1.0, 0.05
TrunkSource = Callable[[ClosedLoop], LinkInertia | None]
"""Returns the estimate of the trunk; None before the first one."""


class CrawlSchedule(NamedTuple):
    """What happens; times from the release."""

    trunk: str  # its link
    stride: float  # length of a foot's step [m]
    begin_s: float  # when the walk begins
    load_s: float  # when the load is there
    duration_s: float  # of the run


@dataclass(frozen=True, slots=True, eq=False)
class CrawlRun:
    """What one run gave; times from the release [s], NaN for what did not happen."""

    load_s: float  # when the load came
    found_s: float  # when it was found
    resumed_s: float  # when the robot, identified, might walk on
    fell_s: float  # when it fell
    ended_s: float  # when the run ended
    swings: int  # feet that landed after the load came
    refusals: tuple[str, ...]  # why identifications were given up
    # by name, shape (n,) each: time [s]; ahead (of the base against the start) [m]; roll, pitch (true) [rad];
    # margin (distance of the true centre of mass from the edge of the polygon of the loaded feet, seen from
    # above, negative outside) [m]; x, y, z, mass (true trunk in its link frame) [m, kg]; x_hat, y_hat, z_hat,
    # mass_hat (estimated); x_used ... (in the controller); hold (0 or 1).
    columns: dict[str, Array]

    def error_xy(self, kind: str = "hat") -> Array:
        """Return the horizontal error of the centre of mass in columns "hat" or "used" [m], shape (n,)."""
        c = self.columns
        return np.hypot(c[f"x_{kind}"] - c["x"], c[f"y_{kind}"] - c["y"])


def load_on_trunk(robot: RobotModel, trunk: str, force: float, point_B: Array, start_s: float) -> Attachment:
    """Return a weight [N] at a point of the base frame [m], put on the trunk at a time from the release."""
    T_TB = robot.fixed_transform(trunk, robot.base_link)
    return Attachment(ball(trunk, force / STANDARD_GRAVITY, tuple(T_TB.act(point_B))), start=start_s)


def identified_trunk(loop: ClosedLoop) -> LinkInertia | None:
    """Return the trunk as it is identified; None before the first identification."""
    return None if loop.identified is None else loop.identified.trunk


def perturbed_robot(robot: RobotLoop, seed: int) -> tuple[str, Overrides]:
    """Return a robot that differs from the model of estimators and controller, as a real robot does.

    Masses of all links off by 3 % and centres of mass by 3 mm (the trunk's too), torques of all joints by
    1 Nm, sensed at the motor, accelerometer biased by 0.05 m/s^2 an axis; all normal. The result is the URDF
    of the true robot, and what the simulation differs in.
    """
    rng = default_rng([seed, 1])
    urdf = perturbed_urdf(robot.urdf, rng, mass_sigma=MASS_SIGMA, com_sigma=COM_SIGMA)
    names = robot.inertial().robot.joint_names
    return urdf, {
        SIMULATOR_NODE: {
            "nominal_friction.joints": names,
            "nominal_friction.terms": ("offset",),
            "nominal_friction.values": tuple((OFFSET_SIGMA * rng.standard_normal(len(names))).tolist()),
            "sensors.effort_at": "motor",
            "sensors.specific_force_bias": tuple((BIAS_SIGMA * rng.standard_normal(3)).tolist()),
        }
    }


def crawl_run(
    loop: ClosedLoop, plan: CrawlSchedule, estimated: TrunkSource, used: TrunkSource, *, hoist_s: float
) -> CrawlRun:
    """Release the robot after a time on its hoist, let it crawl, record until the end or a fall.

    The disturbances of the loop bring the load at `plan.load_s`. The trunk is recorded as it is estimated and
    as the controller uses it.
    """
    loop.release(hoist_s)
    recorder = _Recorder(loop, plan, estimated, used)
    loop.run(plan.duration_s, recorder.tick)
    return CrawlRun(
        plan.load_s,
        recorder.found_s,
        recorder.resumed_s,
        loop.time_s if loop.simulation.fallen else np.nan,
        loop.time_s,
        recorder.swings,
        tuple(recorder.refusals),
        dict(recorder.series.columns()),
    )


class _Recorder:
    """Commands the walk and writes down what happens."""

    def __init__(self, loop: ClosedLoop, plan: CrawlSchedule, *sources: TrunkSource) -> None:
        self.series = TimeSeries()
        self.swings, self.found_s, self.resumed_s = 0, np.nan, np.nan
        self.refusals: dict[str, None] = {}
        self._walk = ScheduledWalk(WalkCommand(ENDLESS_SWINGS, plan.stride), plan.begin_s, plan.duration_s)
        self._plan, (self._estimated, self._used) = plan, sources
        self._start = loop.simulation.truth().base.p_WB
        self._held, self._steps = False, 0

    def tick(self, loop: ClosedLoop) -> None:
        """Called after every tick of the loop."""
        self._walk.command(loop)
        steps = loop.controller.controller.gait.steps_made
        if loop.time_s >= self._plan.load_s:
            self.swings += max(0, steps - self._steps)
        self._steps = steps
        if loop.identified is not None:
            self._note_events(loop.time_s, loop.identified)
        if loop.time_s - self.series.last_time_s > 0.01:
            self._record(loop)

    def _note_events(self, time_s: float, estimate: PayloadEstimate) -> None:
        loaded = estimate.change is not None and estimate.change.kind == "loaded"
        if loaded and time_s >= self._plan.load_s and np.isnan(self.found_s):
            self.found_s = time_s
        if self._held and not estimate.hold and time_s >= self.found_s and np.isnan(self.resumed_s):
            self.resumed_s = time_s
        self.refusals |= {estimate.refusal: None} if estimate.refusal else {}
        self._held = estimate.hold

    def _record(self, loop: ClosedLoop) -> None:
        truth = loop.simulation.truth([self._plan.trunk])
        roll, pitch = roll_pitch_of(rotation_from_quaternion(truth.base.quaternion_xyzw))
        self.series.add(
            loop.time_s,
            ahead=float(truth.base.p_WB[0] - self._start[0]),
            roll=roll,
            pitch=pitch,
            margin=_margin(truth),
            hold=float(self._held),
            **trunk_columns(truth.inertias[self._plan.trunk], ""),
            **trunk_columns(self._estimated(loop), "_hat"),
            **trunk_columns(self._used(loop), "_used"),
        )


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
        if np.linalg.norm(truth.wrenches_C[name][:3]) > IN_AIR
        for x, y, _ in points.tolist()
    ]
    corners = np.array(convex_hull(loaded)) if loaded else np.zeros((0, 2))
    if len(corners) < 3:
        return float("nan")
    along = np.roll(corners, -1, axis=0) - corners
    inwards = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
    return float(((truth.com_W[:2] - corners) * inwards).sum(axis=1).min())


class WalkOutcome(NamedTuple):
    """Numbers of one run, times from the coming of the load [s]; NaN for what did not happen."""

    fell: float
    walked: float  # how long the run went on
    swings: float  # feet that landed
    detected: float  # when the load change was found
    stood: float  # how long it stood to identify
    error: float  # of the published centre of mass in x and y while walking on, median [mm]
    mass_error: float  # of the published trunk mass while walking on, median [%]
    margin: float  # least distance of the true centre of mass from the edge of the support meanwhile [mm]
    speed: float  # mean while walking on [m/s]


def walk_outcome(run: CrawlRun) -> WalkOutcome:
    """Return the numbers of a run."""
    c, t, load_s = run.columns, run.columns["time"], run.load_s
    after = t > run.resumed_s
    walks = int(after.sum()) > 1
    return WalkOutcome(
        fell=run.fell_s - load_s,
        walked=run.ended_s - load_s,
        swings=float(run.swings),
        detected=run.found_s - load_s,
        stood=run.resumed_s - run.found_s,
        error=1e3 * float(np.median(run.error_xy()[after])) if walks else np.nan,
        mass_error=100.0 * float(np.median(np.abs(c["mass_hat"] / c["mass"] - 1.0)[after]))
        if walks
        else np.nan,
        margin=1e3 * float(np.nanmin(c["margin"][after])) if walks else np.nan,
        speed=float(np.ptp(c["ahead"][after]) / np.ptp(t[after])) if walks else np.nan,
    )


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
        estimates: By label, which columns they are in ("hat", "used"), and their style.
        spans: Shaded times.
        seed: Of the run.
    """
    t, label = c["time"], "time [s]"
    com, mass = [], [thinned("true", t, c["mass"], "reference")]
    for i, axis in enumerate("xy"):
        com.append(thinned(f"true {axis}", t, 1e3 * c[axis], "reference", i))
        for name, (columns, style) in estimates.items():
            com.append(thinned(f"{name} {axis}", t, 1e3 * c[f"{axis}_{columns}"], style, i))
    name, (columns, style) = next(iter(estimates.items()))
    mass.append(thinned(name, t, c[f"mass_{columns}"], style, 2))
    return [
        Panel(f"Trunk's centre of mass (seed {seed})", label, "[mm]", com, spans),
        Panel("Trunk's mass", label, "[kg]", mass, spans),
    ]
