"""What may be wrong about a robot's masses, sensors or geometry, and how well it explains the forces."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inertial_estimation.signals import Array


class CauseKind(Enum):
    """What may be wrong.

    Attributes:
        LINK: Mass [kg] and first moment [kg m] of a link.
        WHOLE: A factor of all masses.
        WRENCH: The scale of contact wrenches.
        EFFORT: The scale of efforts.
        ZERO: A constant of one joint's effort [Nm].
        OFFSET: A constant of one joint's position [rad].
        IMU: A rotation of the readings of the IMU of a floating base, its axes [rad].
        MOUNTING: Gravity in the axes of a fixed base [m/s^2].
    """

    LINK = "link"
    WHOLE = "all masses"
    WRENCH = "contact wrench"
    EFFORT = "effort"
    ZERO = "effort zero"
    OFFSET = "joint offset"
    IMU = "IMU"
    MOUNTING = "mounting"

    @property
    def is_scale(self) -> bool:
        """Whether it is a factor of masses or readings."""
        return self in (CauseKind.WHOLE, CauseKind.WRENCH, CauseKind.EFFORT)


@dataclass(frozen=True, eq=False)
class Cause:
    """One cause and how well it explains the forces.

    Attributes:
        kind: What it is.
        subject: Link, contact or joint; "all" for all of them.
        amplitude: Estimated change, true minus described or read, as of `CauseKind`; the relative error of a
            scale.
        sigmas: Their standard deviations; zero of a first moment that is taken as described.
        evidence: Logarithm of how much more probable the data are with it than without.
        explained: Share of the unexplained variance that it explains.
        matters: Size from which it matters.
        wrong: Size from which it is wrong, no tolerance of manufacture.
    """

    kind: CauseKind
    subject: str
    amplitude: Array
    sigmas: Array
    evidence: float
    explained: float
    matters: float
    wrong: float

    @property
    def size(self) -> float:
        """Change of mass [kg], of a scale, of an effort [Nm] or a position [rad]; norm of other vectors."""
        if self.kind in (CauseKind.IMU, CauseKind.MOUNTING):
            return float(np.linalg.norm(self.amplitude))
        return float(self.amplitude[0])

    @property
    def sigma(self) -> float:
        """Standard deviation of the size; of a vector the largest one."""
        if self.kind in (CauseKind.IMU, CauseKind.MOUNTING):
            return float(self.sigmas.max())
        return float(self.sigmas[0])

    @property
    def moment(self) -> tuple[float, float]:
        """Change of a link's first moment about its nominal centre of mass, and its deviation [kg m]."""
        largest = 1 + int(np.argmax(np.abs(self.amplitude[1:])))
        return float(np.linalg.norm(self.amplitude[1:])), float(self.sigmas[largest])
