"""True inertias of the links of a synthetic robot over time."""

from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.truth_file import InertiaStep
from inertial_estimation.signals import LinkInertia
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.synthetic.synthetic_truth import Payload, Truth


def true_inertias(truth: Truth) -> list[InertiaStep]:
    """Return the inertia of the body of every moving link, from the start and from when its load is attached.

    A body is a link with all that is fixed to it, so a load changes all links of its body.

    Args:
        truth: The motion with its payload.
    """
    robot, payload = truth.robot, truth.payload
    steps = []
    for link in robot.link_names:
        body = robot.link_body(link)
        if body.joint_id == 0:
            continue  # fixed to the world
        empty = InertialParameters.from_pinocchio(body.nominal_J).expressed_in(body.T_JL.inverse())
        steps.append(InertiaStep(0.0, _of(link, empty)))
        if payload is not None and robot.link_body(payload.inertia.link).joint_id == body.joint_id:
            loaded = InertialParameters.from_vector(empty.vector + _load_on(robot, payload, link).vector)
            steps.append(InertiaStep(payload.time_s, _of(link, loaded)))
    return steps


def _load_on(robot: RobotModel, payload: Payload, link: str) -> InertialParameters:
    """Return a load in the frame of another link of its body."""
    load = payload.inertia
    body = InertialParameters(load.mass, load.com_L, load.inertia_Lcm)
    return body.expressed_in(robot.fixed_transform(link, load.link))


def _of(link: str, value: InertialParameters) -> LinkInertia:
    return LinkInertia(link, value.mass, value.com_F, value.inertia_Fcm)
