"""Loads and external wrenches that the locator has found in a replay, for `metrics.json`."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.signals import NANOSECONDS, InertialEstimate

LONGEST_BREAK_NS = round(0.2 * NANOSECONDS)  # within which a cause that is found again is the same

Found = list[tuple[int, LocatedCause]]


def located_loads(estimates: Sequence[InertialEstimate]) -> list[dict[str, Any]]:
    """Return the loads put on (positive mass) or taken off (negative mass), in order.

    Args:
        estimates: Of the inertial filter, in order.

    Returns:
        For each that became certain the stamp at which it was first reported, the links that the data hardly
        tell apart (the most probable first), and mass, position in the first link's frame and probability
        when it was last seen. Two loads of one instant are two entries with the same stamp.
    """
    return [
        {
            "stamp_ns": episode[0][0],
            "links": list(load.links),
            "mass_kg": load.mass,
            "com_m": None if load.com_L is None else load.com_L.tolist(),
            "probability": load.probability,
        }
        for episode in _episodes(estimates, Cause.LOAD)
        if any(cause.decided for _stamp, cause in episode)
        for load in episode[-1][1].loads
    ]


def external_wrenches(estimates: Sequence[InertialEstimate]) -> list[dict[str, Any]]:
    """Return the pushes, in order.

    Args:
        estimates: Of the inertial filter, in order.

    Returns:
        For each the stamps at which it was certain first and last, the links that the data hardly tell apart
        (the most probable first), the medians of force, moment about the origin and point of attack in the
        first link's frame (null where the data do not determine the point), and the probability.
    """
    rows = []
    for episode in _episodes(estimates, Cause.PUSH):
        on = [cause.links[0] for _stamp, cause in episode]
        link = max(set(on), key=on.count)
        causes = [cause for _stamp, cause in episode if cause.links[0] == link]
        last = causes[-1]
        rows.append(
            {
                "stamp_ns": episode[0][0],
                "end_stamp_ns": episode[-1][0],
                "links": list(last.links),
                "force_n": _median([cause.force_L for cause in causes]),
                "torque_nm": _median([cause.torque_L for cause in causes]),
                "point_m": _median([cause.point_L for cause in causes]),
                "probability": last.probability,
            }
        )
    return rows


def _episodes(estimates: Sequence[InertialEstimate], cause: Cause) -> Iterator[Found]:
    """Yield the stretches in which a kind of cause was found, a load by the sign of its mass."""
    episode: Found = []
    for estimate in estimates:
        located = estimate.located
        if located is None or located.cause is not cause:
            continue
        if episode:
            stamp_ns, before = episode[-1]
            late = estimate.stamp_ns - stamp_ns > LONGEST_BREAK_NS
            if late or (before.mass < 0.0) != (located.mass < 0.0):
                yield episode
                episode = []
        episode.append((estimate.stamp_ns, located))
    if episode:
        yield episode


def _median(vectors: Sequence[Any]) -> list[float] | None:
    known = [vector for vector in vectors if vector is not None]
    return np.median(np.array(known), axis=0).tolist() if known else None
