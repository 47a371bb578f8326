"""Contacts: when they are used, which point of them is at rest, and the velocity they give.

A contact point fixed in the world, at r_i in the IMU frame and moving at r_i' there, determines the velocity
of the IMU: y_v,i = -(r_i' + w x r_i). The moving anchor of (B 12), p_a = sum s_i p_i with weights s_i >= 0 of
sum 1, gives y_v = sum s_i y_v,i: the derivatives of the weights cancel.

Where a force is not sensed at the contact, a moving point speaks against the contact: the log-odds of a
contact are linear in the force and in the squared speed of the point (`contact_probability`).
"""

import math
from dataclasses import dataclass
from enum import Enum

from inertial_estimation.compilation import inlined
from inertial_estimation.parameters import parameter
from inertial_estimation.spatial.vectors import Vector, add, cross

FAST = 0.5  # speed of a point against the expected one, at which it speaks against a contact [m/s]
MOST_AGAINST = 2.0  # times `force_on`, which a speed of sqrt(2) FAST and more takes from the force


class ContactSource(Enum):
    """Where contact forces come from.

    WRENCH: sensors at the contacts. JOINT_TORQUES: the torques of the joints between base and contact.
    DESIRED: a planner, which wants them.
    """

    WRENCH = "wrench"
    JOINT_TORQUES = "joint_torques"
    DESIRED = "desired"


@dataclass(frozen=True)
class ContactConfig:
    """When a contact is used, and which point of it is at rest."""

    source: str = parameter(
        "wrench",
        "Source of the contact forces: sensors (topics <contact>/wrench), the joint torques in joint_states "
        "together with the IMU (no topic), or the forces that a planner wants (topics "
        "<contact>/desired_wrench).",
        choices=tuple(source.value for source in ContactSource),
    )
    observer_gain: float = parameter(
        100.0,
        "Gain of the momentum observer that turns joint torques into contact forces: a force is followed to "
        "63 % in the inverse of it. Larger is faster, and amplifies the noise of joint velocities.",
        unit="1/s",
        lower=1.0,
        upper=1e4,
    )
    force_on: float = parameter(
        50.0, "Vertical force above which a contact comes into use.", unit="N", lower=0.1, runtime=True
    )
    force_off: float = parameter(
        30.0,
        "Vertical force below which a contact is no longer used; its weight decreases to zero there.",
        unit="N",
        lower=0.0,
        runtime=True,
    )
    point: str = parameter(
        "origin",
        "Point of a contact that is assumed at rest: the origin of its frame, or the centre of pressure.",
        choices=("origin", "centre_of_pressure"),
        runtime=True,
    )
    extent: float = parameter(
        0.1,
        "Largest distance of the centre of pressure from the origin of the contact frame, along each axis.",
        unit="m",
        lower=0.0,
        upper=1.0,
        runtime=True,
    )
    velocity: str = parameter(
        "joint_velocity",
        "Source of the contact velocities: joint velocities, or differences of joint positions.",
        choices=("joint_velocity", "position_difference"),
        runtime=True,
    )

    @property
    def sensed(self) -> bool:
        """Whether sensors at the contacts give the forces."""
        return ContactSource(self.source) is ContactSource.WRENCH


@dataclass(frozen=True, slots=True)
class ContactLoad:
    """Contact point, ground reaction force and weight of one contact, in the base frame.

    Attributes:
        name: Name of the contact.
        point_B: The point of the contact that is taken to be at rest, base frame [m].
        force_B: Force of the ground on the robot, base frame [N].
        weight: Share of the contact in the velocity of the base; 0: not in use.
    """

    name: str
    point_B: Vector
    force_B: Vector
    weight: float


@inlined
def weighing_force(force: float, force_on: float, square: float) -> float:
    """Return the vertical force less what the speed of its point says against a contact.

    Args:
        force: Vertical force that is not sensed at the contact, the ground pushing up positive [N].
        force_on: Force above which a contact that stands comes into use [N].
        square: Squared speed of the point against the one expected [m^2/s^2].

    Returns:
        The force that the trigger gets [N]; a large force outweighs any speed, since the expectation may err.
    """
    return force - force_on * min(square / (FAST * FAST), MOST_AGAINST)


@inlined
def contact_probability(force: float, force_on: float, force_off: float) -> float:
    """Return the probability of a contact, a logistic function.

    The log-odds are -2 at `force_off`, 2 at `force_on`, and linear in the force.

    Args:
        force: What the trigger gets: sensed, or that of `weighing_force` [N].
        force_on: Force above which the contact comes into use [N].
        force_off: Force below which it goes out of use [N]; at most `force_on`.
    """
    width = 0.25 * max(force_on - force_off, 0.05 * force_on)
    odds = (force - 0.5 * (force_on + force_off)) / width
    return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, odds))))


@inlined
def trigger(
    force: float, force_on: float, force_off: float, closed: bool, threshold: float
) -> tuple[float, bool, float]:
    """Return the weight of a contact by a Schmitt trigger, a continuous function of force.

    A contact comes into use above `force_on` and goes out of use below `force_off`. Its weight is
    max(0, f - theta). The threshold theta starts at `force_on` and decreases to `force_off` while the force
    rises by the same amount above `force_on`. The weight therefore rises from zero, returns to zero at
    `force_off` at the latest, and is continuous wherever the force is.

    Args:
        force: Vertical force, the ground pushing up positive [N].
        force_on: Force above which the contact comes into use [N].
        force_off: Force below which it goes out of use [N]; at most `force_on`.
        closed: Whether the contact was in use.
        threshold: Its theta until now [N].

    Returns:
        Weight [N], zero or positive; whether the contact is in use; theta [N].
    """
    force_off = min(force_off, force_on)
    if closed and force <= force_off:
        closed = False
    elif not closed and force > force_on:
        closed = True
        threshold = force_on
    if not closed:
        return 0.0, False, threshold
    threshold = max(force_off, min(threshold, 2.0 * force_on - force))
    return max(0.0, force - threshold), True, threshold


@inlined
def centre_of_pressure(force: Vector, torque: Vector, extent: float, last: Vector) -> Vector:
    """Return the point of the sole about which the contact's horizontal torque vanishes.

    With force f and torque n about the origin: x = -n_y / f_z, y = n_x / f_z, in the contact frame.

    Args:
        force: In the contact frame [N].
        torque: About its origin [Nm].
        extent: Farthest the point may lie from the origin along each axis [m].
        last: Last centre of pressure, contact frame [m].

    Returns:
        Position in the contact frame [m]; `last` where f_z is not positive: a foot that tips until the force
        lies in its plane still stands on the edge it tipped over.
    """
    if force[2] <= 0.0:
        return last
    x, y = -torque[1] / force[2], torque[0] / force[2]
    return max(-extent, min(extent, x)), max(-extent, min(extent, y)), 0.0


@inlined
def anchor_velocity(r_I: Vector, v_I: Vector, w_I: Vector) -> Vector:
    """Return the velocity of the IMU from an anchor at rest (B 12), the weighted mean of contact points.

    y_v = -(r' + w x r), with r = sum_i s_i r_i and r' = sum_i s_i r_i', for weights of sum 1.

    Args:
        r_I: Position of the anchor in the IMU frame [m].
        v_I: Its velocity relative to the IMU, weights fixed [m/s].
        w_I: Angular velocity of the IMU [rad/s].

    Returns:
        Velocity of the IMU in its own frame [m/s].
    """
    x, y, z = add(v_I, cross(w_I, r_I))
    return -x, -y, -z
