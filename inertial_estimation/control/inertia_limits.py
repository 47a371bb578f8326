"""Which link inertias a controller takes: consistent, plausible for the robot, and not jumping about."""

from collections import deque
from collections.abc import Mapping

import numpy as np

from inertial_estimation.control.safety_config import InertiaLimitsConfig
from inertial_estimation.signals import NANOSECONDS, Array, LinkInertia
from inertial_estimation.spatial.inertial_parameters import InertialParameters

JUMP_SHARE = 0.03  # of the robot's mass, by which a set differs from the one before to count as a jump
JUMP_ARM_M = 0.3  # distance over which that share of the mass moves, for a jump of the first moment
MOST_JUMPS = 3  # within a second: a load is taken up, corrected and put down, no more


class InertiaLimits:
    """Limits on the inertia of the body of each expected link.

    Attributes:
        links: The expected links.
        total_mass: Mass of the robot as described [kg].
    """

    def __init__(
        self, nominal_masses: Mapping[str, float], total_mass: float, config: InertiaLimitsConfig
    ) -> None:
        """Set the limits.

        Args:
            nominal_masses: Mass of the body of each expected link [kg].
            total_mass: Mass of the robot [kg].
            config: Shares of these masses, and the extent of a body.
        """
        self.links = tuple(nominal_masses)
        self.total_mass = total_mass
        self._extent = config.extent
        most = config.most_mass * total_mass
        self._ranges = {link: (config.least_mass * m, m + most) for link, m in nominal_masses.items()}

    def inconsistency(self, inertia: LinkInertia) -> str:
        """Return why an inertia is that of no body; empty if it can be one."""
        shapes = (np.shape(inertia.com_L), np.shape(inertia.inertia_Lcm))
        if shapes != ((3,), (3, 3)):
            return f"shapes {shapes}, expected (3,) and (3, 3)"
        numbers = np.concatenate(([inertia.mass], inertia.com_L, np.ravel(inertia.inertia_Lcm)))
        if not np.isfinite(numbers).all():
            return "not finite"
        return "; ".join(InertialParameters(inertia.mass, inertia.com_L, inertia.inertia_Lcm).violations())

    def implausibility(self, inertia: LinkInertia) -> str:
        """Return why a consistent inertia cannot be that of its link; empty if it can."""
        low, high = self._ranges[inertia.link]
        if not low <= inertia.mass <= high:
            return f"mass {inertia.mass:.4g} kg, plausible are {low:.3g} to {high:.3g} kg"
        offset = float(np.abs(inertia.com_L).max())
        if offset > self._extent:
            return f"centre of mass {offset:.3g} m from the link, plausible are at most {self._extent:g} m"
        radius = float(np.sqrt(np.trace(inertia.inertia_Lcm) / inertia.mass))
        if radius > self._extent:
            return f"radius of gyration {radius:.3g} m, plausible are at most {self._extent:g} m"
        return ""


class InertiaJumps:
    """Recognises sets of inertias that jump again and again, which no load does."""

    def __init__(self, total_mass: float) -> None:
        """Begin without a set.

        Args:
            total_mass: Mass of the robot [kg].
        """
        self._least = JUMP_SHARE * total_mass
        self.reset()

    def reset(self) -> None:
        """Forget all sets."""
        self._before: Array | None = None
        self._stamps: deque[int] = deque(maxlen=MOST_JUMPS + 1)

    def too_many(self, stamp_ns: int, inertias: Mapping[str, LinkInertia]) -> bool:
        """Take a set; return whether more than `MOST_JUMPS` sets of the last second differ by a jump.

        Args:
            stamp_ns: Stamp of the set [ns].
            inertias: Inertia of each link, in the same order for every set.
        """
        rows = [(i.mass, *(i.mass / JUMP_ARM_M * i.com_L)) for i in inertias.values()]
        now = np.array(rows)
        if self._before is not None and np.abs(now - self._before).max(initial=0.0) > self._least:
            self._stamps.append(stamp_ns)
        self._before = now
        while self._stamps and not 0 <= stamp_ns - self._stamps[0] <= NANOSECONDS:
            self._stamps.popleft()
        return len(self._stamps) > MOST_JUMPS
