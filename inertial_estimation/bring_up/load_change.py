"""A load that is put on or taken off during the recording: no single description fits all of it."""

from functools import partial

import numpy as np

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.finding import Finding, finding
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.bring_up.uniform_signals import APART
from inertial_estimation.data_checks.check_result import Verdict
from inertial_estimation.signals import NANOSECONDS, Array

CARRIED = (0.3, 3.0)  # of the predicted force, within which the contacts carry the robot
SOUND = (0.75, 1.6)  # the same of both levels: beyond, a sensor or the description is wrong
ALONG = 0.98  # cosine between measured and predicted force, below which a sensor's axes are
FEWEST = 20  # times, 0.1 s apart, before and after the change
LEAST = 0.03  # change of the share of the weight that counts
SIGMAS = 6.0  # of the difference of two medians
CORRELATED = 3.0  # times over which errors of walking last
EDGE_S = 0.5  # around the change that belong to neither part [s]


def load_change_findings(case: Case) -> list[Finding]:
    """Look for a step in what the contacts carry, as a share of the force that the motion needs.

    The force that the description predicts for the measured acceleration is in the denominator, so the steps
    of a walk hardly show. The longer part is examined further.

    Args:
        case: The recording.
    """
    if not case.streams.wrenches or not case.setup.robot.floating_base:
        return []
    signals = case.signals
    expected, measured = signals.table.force[::APART, :3], signals.table.contact_force[::APART, :3]
    with np.errstate(all="ignore"):
        size = (np.linalg.norm(part, axis=1) for part in (measured, expected))
        product, measured_size, expected_size = (measured * expected).sum(axis=1), *size
        share = product / expected_size**2
        known = (share > CARRIED[0]) & (share < CARRIED[1])
        cosine = product / (measured_size * expected_size)
    found = _step(share[known])
    if found is None or not np.median(cosine[known]) > ALONG:
        return []
    at, before, after = found
    if not SOUND[0] < min(before, after) <= max(before, after) < SOUND[1]:
        return []
    times = signals.times_s[::APART][known]
    begins = float(times[at])
    mass = (after - before) * case.setup.robot.total_mass
    kept_first = begins - times[0] >= times[-1] - begins
    stamps = case.streams.joints.stamps_ns
    first, past = int(stamps.min()), int(stamps.max()) + NANOSECONDS
    edges = [first + round((begins + edge) * NANOSECONDS) for edge in (-EDGE_S, EDGE_S)]
    begin_ns, end_ns = (first - NANOSECONDS, edges[0]) if kept_first else (edges[1], past)
    said = (
        f"the contacts carry {before:.2f} times the weight of the description before {begins:.1f} s of the "
        f"recording and {after:.2f} times after it ({mass:+.3g} kg): no single description fits both"
    )
    part = "before" if kept_first else "after"
    remedy = (
        f"a load put on or taken off? The other checks examine the part {part} it; choose the other one by "
        "--start and --duration"
    )
    mend = partial(RobotStreams.between, begin_ns=begin_ns, end_ns=end_ns)
    return [finding("load change", "recording", Verdict.WARN, mass, "kg", said, remedy, mend=mend)]


def _step(share: Array) -> tuple[int, float, float] | None:
    """Return where a series changes its level most clearly, and both levels; None where it does not."""
    n = len(share)
    if n < 2 * FEWEST:
        return None
    sums = np.concatenate(([0.0], np.cumsum(share)))
    splits = np.arange(FEWEST, n - FEWEST + 1)
    left, right = sums[splits], sums[n] - sums[splits]
    gain = left**2 / splits + right**2 / (n - splits)  # least squares of two levels
    at = int(splits[np.argmax(gain)])
    before, after = float(np.median(share[:at])), float(np.median(share[at:]))
    spread = np.concatenate((np.abs(share[:at] - before), np.abs(share[at:] - after)))
    sigma = 1.86 * float(np.median(spread)) * np.sqrt(CORRELATED * (1.0 / at + 1.0 / (n - at)))
    return (at, before, after) if abs(after - before) > max(LEAST, SIGMAS * sigma) else None
