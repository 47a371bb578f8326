"""How a closed loop goes: errors of its estimates, what preceded a fall, and a short run of a new robot."""

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.closed_loop.robot_loop import RobotLoop
from inertial_estimation.errors import listing
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation import GroundTruth
from inertial_estimation.spatial.rotations import rotation_from_quaternion


class LoopAccuracy:
    """Errors of the estimates of a loop against its simulation.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Begin without samples; `sample` adds one."""
        self.loop = loop
        self._tilts: list[float] = []

    def sample(self) -> None:
        """Compare the tilt now: the angle between the true vertical and the estimated one."""
        if self.loop.base is None or not self.loop.simulation.robot.floating_base:
            return
        truth = self.loop.simulation.truth().base
        up, estimate = (
            rotation_from_quaternion(np.asarray(state.quaternion_xyzw))[2]
            for state in (truth, self.loop.base.state)
        )
        self._tilts.append(float(np.linalg.norm(up - estimate)))

    @property
    def tilt_rms(self) -> float:
        """Root mean square of the tilt error [rad]; NaN without an observer."""
        return float(np.sqrt(np.mean(np.square(self._tilts)))) if self._tilts else float("nan")

    def masses(self) -> dict[str, tuple[float, float, float]]:
        """Return estimate, its standard deviation and truth of every estimated link's mass [kg].

        Empty without an inertial filter.
        """
        if self.loop.inertias is None:
            return {}
        estimates = {link.estimate.link: link for link in self.loop.inertias.links}
        truth = self.loop.simulation.truth(tuple(estimates)).inertias
        return {
            name: (link.estimate.mass, math.sqrt(float(link.covariance[0, 0])), truth[name].mass)
            for name, link in estimates.items()
        }

    def lines(self) -> list[str]:
        """Return the errors in words, a line each."""
        tilt = "" if math.isnan(self.tilt_rms) else f"tilt error: {self.tilt_rms:.2g} rad (root mean square)"
        masses = [
            f"mass of {name}: {mass:.4g} +- {sigma:.2g} kg, true {true:.4g} kg"
            for name, (mass, sigma, true) in self.masses().items()
        ]
        return [line for line in (tilt, *masses) if line]


KEPT = 50  # looks before a fall that are kept, 5 s
AT_LIMIT = 0.98  # share of the effort limit from which a torque is at it
MOST_JOINTS = 4


class _Look(NamedTuple):
    """The robot at one time."""

    time_s: float  # since the release [s]
    beyond: float  # of the centre of mass beyond what touches the ground [m]; infinite below three points
    limited: list[str]  # joints whose torque is at its limit


class FallWatch:
    """Looks at a robot now and then, and says what preceded its fall.

    Attributes:
        loop: The loop.
    """

    def __init__(self, loop: ClosedLoop) -> None:
        """Begin without looks."""
        self.loop = loop
        robot = loop.simulation.robot
        limits = np.array(robot.model.effortLimit[robot.n_base :])
        self._limits = np.where(limits > 0.0, limits, np.inf)
        self._looks: deque[_Look] = deque(maxlen=KEPT)

    def look(self) -> None:
        """Look at the robot now."""
        if self.loop.simulation.fallen:
            return
        truth = self.loop.simulation.truth()
        at_limit = np.flatnonzero(np.abs(truth.tau_motor) > AT_LIMIT * self._limits).tolist()
        names = self.loop.simulation.robot.joint_names
        self._looks.append(_Look(self.loop.time_s, _beyond(truth), [names[j] for j in at_limit]))

    def sentence(self) -> str:
        """Say when the robot fell, and what could be seen before."""
        parts = [f"the robot fell after {self.loop.time_s:.1f} s"]
        looks = list(self._looks)
        tipped = len(looks)
        while tipped > 0 and looks[tipped - 1].beyond > 0.0:
            tipped -= 1
        if tipped < len(looks):
            parts.append(
                f"from {looks[tipped].time_s:.1f} s on its centre of mass was not above what touched the "
                "ground"
            )
        times: dict[str, list[float]] = {}
        for look in looks[:tipped]:
            for name in look.limited:
                times.setdefault(name, []).append(look.time_s)
        worst = sorted(times, key=lambda name: -len(times[name]))[:MOST_JOINTS]
        if worst:
            said = [f"{name} (first at {times[name][0]:.1f} s)" for name in worst]
            parts.append(f"torques at the effort limit before: {listing(said)}")
        else:
            parts.append("no torque was at its effort limit before, so the controller let it fall")
        return "; ".join(parts)


def _beyond(truth: GroundTruth) -> float:
    """Distance of the centre of mass beyond the hull of the points that touch the ground [m]."""
    points = [truth.points_W[contact][depths > 0.0, :2] for contact, depths in truth.depths.items()]
    touching: Array = np.concatenate(points) if points else np.zeros((0, 2))
    if len(touching) < 3:
        return np.inf
    try:
        equations = ConvexHull(touching).equations
    except QhullError:  # on a line
        return np.inf
    return float((equations[:, :2] @ truth.com_W[:2] + equations[:, 2]).max())


ON_HOIST_S, STANDING_S = 1.0, 1.0


@dataclass(frozen=True)
class TrialRun:
    """How a short run ended.

    Attributes:
        fallen: Whether the robot fell.
        drift: Largest distance of a joint from the stance at the end [rad or m].
        joint: That joint.
        tilt_rms: Tilt error [rad]; NaN without a tilt observer.
    """

    fallen: bool
    drift: float
    joint: str
    tilt_rms: float


def try_robot(file: str) -> TrialRun:
    """Build all estimators, controller and simulation of a parameter file and run them shortly.

    Args:
        file: Path of the parameter file.

    Raises:
        ~inertial_estimation.errors.InertialEstimationError: If a node does not accept the file, or the
            robot cannot stand in its stance.
    """
    loop = RobotLoop(file).build(inertial=True, adaptation=True)
    start = loop.simulation.truth().q.copy()
    loop.release(ON_HOIST_S)
    loop.run(STANDING_S)
    accuracy = LoopAccuracy(loop)
    accuracy.sample()
    drifts = np.abs(loop.simulation.truth().q - start)
    worst = int(np.argmax(drifts))
    joint = loop.simulation.robot.joint_names[worst]
    return TrialRun(loop.simulation.fallen, float(drifts[worst]), joint, accuracy.tilt_rms)
