"""What happened to a simulated robot before it fell: torques at their limits, balance, tilt error."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from inertial_estimation.closed_loop.closed_loop import ClosedLoop
from inertial_estimation.errors import listing
from inertial_estimation.signals import Array
from inertial_estimation.simulation.simulation import GroundTruth

KEPT = 50  # looks before a fall that are kept, 5 s
AT_LIMIT = 0.98  # share of the effort limit from which a torque is at it
MOST_JOINTS = 4


@dataclass(frozen=True)
class _Look:
    """The robot at one time.

    Attributes:
        time_s: Since the release [s].
        beyond: By how far the centre of mass is beyond the points that touch the ground [m]; negative inside,
            infinite where fewer than three touch it.
        limited: Joints whose torque is at its limit.
    """

    time_s: float
    beyond: float
    limited: tuple[str, ...]


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
        self._looks.append(_Look(self.loop.time_s, _beyond(truth), tuple(names[j] for j in at_limit)))

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
