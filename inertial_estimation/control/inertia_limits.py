"""Which link inertias a controller takes: consistent, plausible for the robot, and not jumping about."""

import math
from collections import deque
from collections.abc import Mapping

import numpy as np

from inertial_estimation.compilation import (
    Column,
    Integers,
    MutableColumn,
    Table,
    compiled,
    inlined,
    warm_up,
)
from inertial_estimation.construction import made_of_checked
from inertial_estimation.control.safety_config import InertiaLimitsConfig
from inertial_estimation.message_numbers import (
    INERTIA_LAYOUT,
    UNUSUAL,
    MessageNumbers,
    first_double,
    stamp_of,
)
from inertial_estimation.signals import NANOSECONDS, Array, LinkInertia
from inertial_estimation.spatial.inertial_parameters import InertialParameters

INERTIA_WIDTH = 13  # numbers of an inertia: mass, centre of mass (3), rotational inertia by rows (9)
# Shares of the trace of a rotational inertia, far above round-off: a usual one is as symmetric, and its
# second moments are as far above zero, so that `InertialParameters.violations` finds nothing.
SYMMETRIC, POSITIVE = 1e-10, 1e-9
_link_inertia = made_of_checked(LinkInertia)

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
        self._message, self._layout = MessageNumbers(), INERTIA_LAYOUT.integers
        self._numbers = {link: np.array([*ends, config.extent]) for link, ends in self._ranges.items()}
        warm_up()

    def usual_in(self, link: str, data: bytes) -> tuple[int, LinkInertia] | None:
        """Read a serialised message of a link's inertia.

        Args:
            link: One of the expected links, whatever the frame of the message.
            data: A message of type geometry_msgs/InertiaStamped.

        Returns:
            Stamp [ns] and inertia; None where the message is to be read, or its inertia judged, in Python.
        """
        message, row = self._message, np.empty(INERTIA_WIDTH)
        length, limits = message.hold(data), self._numbers[link]
        stamp_ns = usual_message(length, message.words, message.doubles, self._layout, limits, row)
        if stamp_ns == UNUSUAL:
            return None
        row.setflags(write=False)
        return stamp_ns, _link_inertia(link, float(row[0]), row[1:4], row[4:].reshape(3, 3))

    def usual(self, inertia: LinkInertia) -> bool:
        """Return whether an inertia is certainly consistent and plausible; others are to be judged."""
        c, moments = np.array(inertia.com_L, dtype=float), np.array(inertia.inertia_Lcm, dtype=float)
        if c.shape != (3,) or moments.shape != (3, 3):
            return False
        return bool(_usual(float(inertia.mass), c, moments, self._numbers[inertia.link]))

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
        numbers = [x for i in inertias.values() for x in (i.mass, *np.asarray(i.com_L).tolist())]
        now = np.array(numbers).reshape(-1, 4)
        if self._before is not None and largest_difference(now, self._before) > self._least:
            self._stamps.append(stamp_ns)
        self._before = now
        while self._stamps and not 0 <= stamp_ns - self._stamps[0] <= NANOSECONDS:
            self._stamps.popleft()
        return len(self._stamps) > MOST_JUMPS


@compiled
def largest_difference(bodies: Table, others: Table) -> float:
    """Return the largest difference of masses, and of first moments over `JUMP_ARM_M` [kg].

    Args:
        bodies: Mass and centre of mass of each body [kg, m], shape (n, 4), n at least 1.
        others: The same of others.
    """
    largest = 0.0
    for i in range(len(bodies)):
        m, other = bodies[i, 0], others[i, 0]
        largest = max(largest, abs(m - other))
        for j in range(1, 4):
            moved = m * bodies[i, j] / JUMP_ARM_M - other * others[i, j] / JUMP_ARM_M
            largest = max(largest, abs(moved))
    return largest


@compiled
def usual_message(
    length: int, words: Integers, doubles: Column, layout: Integers, limits: Column, out: MutableColumn
) -> int:
    """Read a message of type geometry_msgs/InertiaStamped if its inertia is a usual one.

    Args:
        length: Length of the message behind the encapsulation [bytes].
        words: The message.
        doubles: The same as doubles.
        layout: Of the message: numbers of its strings and of its doubles.
        limits: Least and largest mass [kg] and extent [m] of the link, shape (3,).
        out: Mass, centre of mass and rotational inertia by rows, shape (13,); written.

    Returns:
        The stamp [ns]; UNUSUAL where message or inertia is not a usual one.
    """
    first = first_double(length, layout[0], layout[1], words)
    if first < 0:
        return UNUSUAL
    pi = doubles[first : first + 10]
    out[:7] = pi[:7]
    out[7], out[8], out[9], out[10], out[11], out[12] = pi[5], pi[7], pi[8], pi[6], pi[8], pi[9]
    stamp = stamp_of(words)
    if stamp < 0 or not _is_usual(out[0], out[1:4], out[4:].reshape(3, 3), limits):
        return UNUSUAL
    return stamp


@compiled
def _usual(mass: float, com: Column, inertia: Table, limits: Column) -> bool:
    return _is_usual(mass, com, inertia, limits)


@inlined
def _is_usual(mass: float, com: Column, inertia: Table, limits: Column) -> bool:
    """Return whether an inertia is consistent, with margins above round-off, and plausible for its link.

    A rigid body is one whose matrix of second moments about the centre of mass, tr(I)/2 - I, is positive
    definite: principal moments are positive then, and keep the triangle inequality.

    Args:
        mass: Mass [kg].
        com: Centre of mass [m], shape (3,).
        inertia: Rotational inertia about it [kg m^2], shape (3, 3).
        limits: Least and largest mass [kg] and extent [m] of the link, shape (3,).
    """
    extent, trace = limits[2], inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
    if not (mass > 0.0 and limits[0] <= mass <= limits[1] and trace > 0.0):  # also where a number is NaN
        return False
    for i in range(3):
        if (
            not abs(com[i]) <= extent
            or not abs(float(inertia[i, i - 1]) - float(inertia[i - 1, i])) <= SYMMETRIC * trace
        ):
            return False
    least = (0.5 - POSITIVE) * trace
    a, b, c = least - inertia[0, 0], least - inertia[1, 1], least - inertia[2, 2]
    xy, xz, yz = -inertia[0, 1], -inertia[0, 2], -inertia[1, 2]
    if not a > 0.0:
        return False
    b, yz, c = b - xy * xy / a, yz - xy * xz / a, c - xz * xz / a
    if not (b > 0.0 and c - yz * yz / b > 0.0):
        return False
    return bool(math.sqrt(trace / mass) <= extent)
