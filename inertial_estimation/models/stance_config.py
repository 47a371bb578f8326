"""Parameters of the stance: home posture and soles, shared by the simulator and the controller."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import parameter
from inertial_estimation.signals import Array


@dataclass(frozen=True)
class StanceConfig:
    """Posture in which the robot stands, and the rectangle of each sole."""

    joints: tuple[str, ...] = parameter(
        (),
        "Joints that have a position in the home posture; joints that are not named have the position zero.",
    )
    positions: tuple[float, ...] = parameter(
        (), "Position in the home posture of each entry of stance.joints, in the same order.", unit="rad"
    )
    soles: tuple[float, ...] = parameter(
        (),
        "Rectangle x_min, x_max, y_min, y_max of each contact's sole in the contact frame, one contact "
        "after another; empty makes every contact a point.",
        unit="m",
    )


def stance_positions(config: StanceConfig, robot: RobotModel) -> Array:
    """Return the home posture in the model's joint order.

    Args:
        config: Posture by joint name.
        robot: The model.

    Returns:
        Joint positions [rad], shape (n_joints,).

    Raises:
        ConfigurationError: If there are not as many positions as joints.
        ~inertial_estimation.errors.ModelError: If a joint does not exist.
    """
    if len(config.joints) != len(config.positions):
        raise ConfigurationError(
            f"stance.positions has {len(config.positions)} values, expected one for each of the "
            f"{len(config.joints)} stance.joints"
        )
    q = np.zeros(robot.n_joints)
    for name, position in zip(config.joints, config.positions, strict=True):
        q[robot.joint_index(name)] = position
    return q


def contact_points(config: StanceConfig, contacts: Sequence[str]) -> tuple[Array, ...]:
    """Return the points each contact touches the ground with.

    Args:
        config: Rectangles of the soles.
        contacts: Names of the contacts.

    Returns:
        For each contact, points in its frame [m], shape (4, 3), or (1, 3) for a point contact.

    Raises:
        ConfigurationError: If there are not four numbers a contact, or a rectangle is empty.
    """
    if not config.soles:
        return tuple(np.zeros((1, 3)) for _ in contacts)
    if len(config.soles) != 4 * len(contacts):
        raise ConfigurationError(
            f"stance.soles has {len(config.soles)} values, expected four (x_min, x_max, y_min, y_max) for "
            f"each of {len(contacts)} contacts"
        )
    points = []
    for name, (x0, x1, y0, y1) in zip(contacts, np.reshape(config.soles, (-1, 4)), strict=True):
        if not (x0 < x1 and y0 < y1):
            raise ConfigurationError(
                f"the sole of contact '{name}' is [{x0}, {x1}] x [{y0}, {y1}], expected x_min < x_max and "
                "y_min < y_max"
            )
        points.append(np.array([[x0, y0, 0.0], [x0, y1, 0.0], [x1, y0, 0.0], [x1, y1, 0.0]]))
    return tuple(points)
