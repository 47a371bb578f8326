"""Reference of the divergent component of motion for a planned centre of pressure.

While p moves linearly from p0 to p1 within T, xi' = omega (xi - p) has the solution
xi(t) = p(t) + p'/omega + (xi(0) - p0 - p'/omega) e^{omega t}. It is unstable forwards and stable backwards:
the plan ends at rest, xi(end) = p(end), and the recursion runs back to now (Englsberger et al. 2013).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inertial_estimation.control.support_polygon import Point


@dataclass(frozen=True, slots=True)
class PressureSegment:
    """The centre of pressure moves in a straight line.

    Attributes:
        start: Where it begins [m].
        end: Where it ends [m].
        duration: How long it takes [s].
    """

    start: Point
    end: Point
    duration: float


def dcm_of_plan(segments: Sequence[PressureSegment], omega: float) -> Point:
    """Return the DCM at the beginning of a plan that ends at rest.

    Args:
        segments: The plan, from now on; at least one.
        omega: Frequency of the pendulum [1/s].
    """
    x, y = segments[-1].end
    for segment in reversed(segments):
        if segment.duration <= 0.0:
            continue
        (x0, y0), (x1, y1) = segment.start, segment.end
        scale = 1.0 / (omega * segment.duration)
        sx, sy = (x1 - x0) * scale, (y1 - y0) * scale
        decay = math.exp(-omega * segment.duration)
        x, y = x0 + sx + decay * (x - x1 - sx), y0 + sy + decay * (y - y1 - sy)
    return x, y
