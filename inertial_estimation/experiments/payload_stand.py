"""A quadruped that stands while its trunk is identified: the scene, and one identification tick by tick.

The robot stands under the whole-body controller on the tilt observer's estimate, with noisy sensors. Load and
ground are present from the start; estimators and controller assume a trunk whose centre of mass is several
centimetres off. An identification runs through the pipeline of the node and is judged by the truth.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.closed_loop.time_series import TimeSeries
from inertial_estimation.configuration.node_names import PAYLOAD_NODE, SIMULATOR_NODE
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.crawl_run import load_on_trunk
from inertial_estimation.experiments.perturbed_models import urdf_with_moved_com
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.payload.estimate import Phase
from inertial_estimation.signals import Array, BaseReference
from inertial_estimation.simulation.disturbances import Attachment
from inertial_estimation.spatial.rotations import roll_pitch_of, rotation_from_quaternion

ROBOT, TRUNK = "hyq", "trunk"
POINT_B = (-0.75, 0.4, 0.0)  # of the load, base frame [m] (T V-A)
LOADS_N = (0.0, 50.0, 100.0)
COM_ERROR_L = (0.04, -0.03, 0.03)  # of the trunk's centre of mass assumed at the start [m]
STANDING_S = 1.5  # between release and request
PERIOD_S = 0.01  # of the record
RAMP_BEGIN = -2.0  # far behind the robot [m]
Overrides = dict[str, dict[str, Any]]
QUICK: Mapping[str, Any] = {"contact_forces.settling_time": 0.3, "mass_duration": 0.1}
"""Parameters of the identification in a shortened run."""


@dataclass(frozen=True)
class Scene:
    """Ground and load of a robot.

    Attributes:
        load_N: Weight of the load [N].
        slope: Of the ground, upwards along x [rad].
        parallel: Whether the trunk is parallel to the slope; else it is level.
        load_s: When the load comes, from the release [s]; then it starts the identification by itself.
    """

    load_N: float = 0.0
    slope: float = 0.0
    parallel: bool = True
    load_s: float = 0.0

    @property
    def overrides(self) -> Overrides:
        """Parameters by node."""
        ground: dict[str, Any] = {}
        if self.slope:
            ground = {"ground.terrain": "ramp", "ground.slope": self.slope, "ground.begin": RAMP_BEGIN}
        start = "on_change" if self.load_s else "on_request"
        return {SIMULATOR_NODE: ground, PAYLOAD_NODE: {"start": start}}


@dataclass(frozen=True, slots=True, eq=False)
class IdentificationTrial:
    """What one identification gave.

    Attributes:
        method: How the centre of mass was found.
        converged: Whether it came to its end.
        refusal: Why it was given up; empty if it was not.
        fallen: Whether the robot fell.
        columns: By name, shape (n,) each: time (since it was asked for) [s]; x, y, z, mass (of the true
            trunk with its load, trunk frame) [m, kg]; x_hat, y_hat, z_hat, mass_hat (identified); roll, pitch
            (of the true base) [rad]; phase (its place among the phases).
    """

    method: str
    converged: bool
    refusal: str
    fallen: bool
    columns: dict[str, Array]

    @property
    def error_L(self) -> Array:
        """Error of the centre of mass over time [m], shape (n, 3)."""
        c = self.columns
        return np.column_stack([c[f"{axis}_hat"] - c[axis] for axis in "xyz"])

    @property
    def error_xy(self) -> float:
        """Distance from the true centre of mass in x and y, at the end [m]."""
        return float(np.hypot(*self.error_L[-1, :2]))

    @property
    def error_z(self) -> float:
        """Error in z at the end [m]."""
        return float(abs(self.error_L[-1, 2]))

    @property
    def mass_error(self) -> float:
        """Error of the trunk's mass at the end, share of the true one."""
        return float(abs(self.columns["mass_hat"][-1] / self.columns["mass"][-1] - 1.0))

    @property
    def begins(self) -> float:
        """When the recursion on the centre of mass begins [s]; NaN if it never did."""
        within = self.columns["phase"] == PHASES.index(Phase.COM)
        return float(self.columns["time"][within.argmax()]) if within.any() else math.nan

    def settled(self, tolerance: float) -> float:
        """Return from when on x and y stay within a tolerance [m] of the truth [s]; NaN if they do not."""
        far = np.hypot(*self.error_L[:, :2].T) > tolerance
        if far[-1]:
            return math.nan
        return float(self.columns["time"][len(far) - far[::-1].argmax()]) if far.any() else 0.0


PHASES = tuple(Phase)


def perturbed(robot: RobotLoop) -> RobotLoop:
    """Return the robot with a shifted centre of mass of the trunk in its model."""
    return robot.believing(urdf_with_moved_com(robot.urdf, TRUNK, np.array(COM_ERROR_L)))


def _loads(robot: RobotLoop, scene: Scene) -> list[Attachment]:
    """Return the load at the paper's point; empty for no load."""
    if scene.load_N == 0.0:
        return []
    model = RobotModel.from_urdf(robot.urdf)
    return [load_on_trunk(model, TRUNK, scene.load_N, np.array(POINT_B), scene.load_s)]


def standing_loop(
    robot: RobotLoop,
    scene: Scene,
    seed: int,
    *,
    hoist_s: float,
    overrides: Overrides | None = None,
    prepare: Callable[[ClosedLoop], None] | None = None,
) -> ClosedLoop:
    """Build the loop, release the robot and let it stand.

    Args:
        robot: Model of the estimators and the controller.
        scene: Ground and load.
        seed: Of the sensor noise.
        hoist_s: Time on the hoist [s].
        overrides: More parameters by node.
        prepare: Called with the loop before the release.

    Raises:
        ConfigurationError: If the robot falls.
    """
    replaced = {node: dict(values) for node, values in scene.overrides.items()}
    for node, values in (overrides or {}).items():
        replaced.setdefault(node, {}).update(values)
    loop = robot.build(
        overrides=replaced,
        disturbances=_loads(robot, scene),
        seed=seed,
        payload=True,
        inertial=False,
    )
    if prepare is not None:
        prepare(loop)
    loop.release(hoist_s)
    if scene.slope and scene.parallel:
        assert loop.controller.last is not None
        loop.controller.push_base_reference(BaseReference(loop.controller.last.height_ref, 0.0, -scene.slope))
    loop.run(STANDING_S)
    if loop.simulation.fallen:
        raise ConfigurationError(f"the robot falls before it is identified ({scene})")
    return loop


def identification(loop: ClosedLoop, method: str, limit_s: float) -> IdentificationTrial:
    """Ask for an identification and record it until it ends, the robot falls or the time is over.

    Args:
        loop: A standing robot with a payload pipeline.
        method: Approach to the centre of mass; empty if a load change instead of a request starts it.
        limit_s: Longest time [s].

    Returns:
        The record.
    """
    assert loop.payload is not None
    if method:
        loop.payload.identify(method)
    series, begin_s = TimeSeries(), loop.time_s
    under_way = ended = False
    while not (ended or loop.simulation.fallen) and loop.time_s - begin_s < limit_s:
        loop.run(PERIOD_S)
        assert loop.identified is not None
        _record(series, loop, begin_s)
        watching = loop.identified.phase is Phase.WATCHING
        ended, under_way = under_way and watching, under_way or not watching
        ended = ended or bool(method and loop.identified.refusal)
    last = loop.identified
    assert last is not None
    return IdentificationTrial(
        method or last.method,
        ended and last.converged and not last.refusal,
        last.refusal,
        loop.simulation.fallen,
        dict(series.columns()),
    )


def _record(series: TimeSeries, loop: ClosedLoop, begin_s: float) -> None:
    truth, identified = loop.simulation.truth((TRUNK,)), loop.identified
    assert identified is not None
    true, found = truth.inertias[TRUNK], identified.estimate
    roll, pitch = roll_pitch_of(rotation_from_quaternion(truth.base.quaternion_xyzw))
    series.add(
        loop.time_s - begin_s,
        **{axis: float(value) for axis, value in zip("xyz", true.com_L, strict=True)},
        mass=true.mass,
        **{f"{axis}_hat": float(value) for axis, value in zip("xyz", found.com_L, strict=True)},
        mass_hat=found.mass,
        roll=roll,
        pitch=pitch,
        phase=float(PHASES.index(identified.phase)),
    )
