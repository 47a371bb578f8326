"""A short run of a robot in simulation: whether its parameter file is accepted and it keeps its posture."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.closed_loop.loop_accuracy import LoopAccuracy
from inertial_estimation.closed_loop.robot_loop import RobotLoop

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
