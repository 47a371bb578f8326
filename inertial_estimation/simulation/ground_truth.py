"""The true state of a simulated robot at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass

from inertial_estimation.signals import (
    Array,
    BaseState,
    ImuSample,
    JointReading,
    LinkInertia,
    WrenchSample,
    frozen_array,
)


@dataclass(frozen=True, eq=False)
class SensorReadings:
    """Readings that arrive at one stamp; lost ones are None or absent.

    Attributes:
        stamp_ns: The stamp of all of them [ns].
        imu: Reading of the IMU; None without one.
        joints: Positions, velocities and torques.
        wrenches: By contact.
    """

    stamp_ns: int
    imu: ImuSample | None
    joints: JointReading | None
    wrenches: Mapping[str, WrenchSample]


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """True values of all estimated quantities.

    Equation of motion, in Pinocchio's coordinates, M and h of `inertias`:
    M a + h = [0; tau_link] + sum of J_C' wrench_C + pushes.

    Attributes:
        stamp_ns: [ns].
        base: Pose and twist of the base; the origin for a fixed base.
        q: Joint positions in the model's order [rad], shape (n_joints,).
        v: Joint velocities [rad/s], shape (n_joints,).
        a: Generalised acceleration in Pinocchio's coordinates, shape (nv,).
        tau_motor: Motor torques, after limits and lag [Nm], shape (n_joints,).
        tau_link: Torques on the links, behind rotor inertia, friction and end stops [Nm], shape (n_joints,).
        wrenches_C: Wrench of the ground by contact, in its frame [N, Nm], shape (6,) each.
        depths: Depths of each contact's points [m].
        points_W: Each contact's points in the world [m], shape (k, 3).
        inertias: Inertia of the body of every requested link, by link.
        com_W: Centre of mass in the world [m], shape (3,).
        com_velocity_W: Its velocity [m/s], shape (3,).
        total_mass: Mass of the robot with all it carries [kg].
    """

    stamp_ns: int
    base: BaseState
    q: Array
    v: Array
    a: Array
    tau_motor: Array
    tau_link: Array
    wrenches_C: Mapping[str, Array]
    depths: Mapping[str, Array]
    points_W: Mapping[str, Array]
    inertias: Mapping[str, LinkInertia]
    com_W: Array
    com_velocity_W: Array
    total_mass: float

    def __post_init__(self) -> None:
        for name in ("q", "v", "a", "tau_motor", "tau_link", "com_W", "com_velocity_W"):
            object.__setattr__(self, name, frozen_array(name, getattr(self, name)))
