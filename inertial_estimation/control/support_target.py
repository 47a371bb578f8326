"""Support and swing of the feet commanded by the gait at one instant."""

from dataclasses import dataclass
from enum import Enum

from inertial_estimation.control.tasks import FootReference
from inertial_estimation.signals import Array


class GaitPhase(Enum):
    """What a gait is doing.

    Attributes:
        STANDING: All feet stand, no step is to come.
        TRANSFER: All feet stand while the weight moves over those that will carry it.
        DWELL: All feet stand and the body rests before a foot leaves; a crawl only.
        SWING: One foot is in the air.
    """

    STANDING = "standing"
    TRANSFER = "transfer"
    DWELL = "dwell"
    SWING = "swing"


@dataclass(frozen=True, slots=True, eq=False)
class SupportTarget:
    """Support, centre of pressure and swing foot; positions relative to the base origin, world axes.

    Attributes:
        phase: What the gait is doing.
        activity: The phase with its foot, for people: "standing", "transfer to left_foot" ...
        capacity: How much of its full force each contact may take, 0 (in the air) to 1.
        zmp: Centre of pressure of the reference [m], shape (2,).
        dcm: Divergent component of motion of the reference [m], shape (2,).
        support_height: Height of the ground under the base [m]: of the soles that carry.
        yaw: Heading of the feet [rad].
        swing: Index of the foot in the air; None: all stand.
        swing_reference: Where it should be.
        support_motion: Rate [m/s] and acceleration [m/s^2] of the ground's height under the moving base.
        tilt: Roll and pitch of the ground the base leans with [rad].
        R_WG: Axes of the ground, z along its normal, in which the force of a point is bounded, shape (3, 3);
            None: those of the world.
        fresh: Whether the reference starts anew from where the robot is, so that no error of before counts.
    """

    phase: GaitPhase
    activity: str
    capacity: tuple[float, ...]
    zmp: Array
    dcm: Array
    support_height: float
    yaw: float
    swing: int | None = None
    swing_reference: FootReference | None = None
    support_motion: tuple[float, float] = (0.0, 0.0)
    tilt: tuple[float, float] = (0.0, 0.0)
    R_WG: Array | None = None
    fresh: bool = False
