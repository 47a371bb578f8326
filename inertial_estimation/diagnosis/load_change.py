"""A load that is put on or taken off during the recording: no single description fits all of it."""

import numpy as np

from inertial_estimation.diagnosis.finding import Finding, Verdict
from inertial_estimation.diagnosis.table import Change, Table
from inertial_estimation.signals import Array

CARRIED = (0.3, 3.0)  # of the predicted force, within which the contacts carry the robot
SOUND = (0.75, 1.6)  # the same of both levels: beyond, a sensor or the description is wrong
ALONG = 0.98  # cosine between measured and predicted force, below which a sensor's axes are
FEWEST = 20  # times, 0.1 s apart, before and after the change
LEAST = 0.03  # change of the share of the weight that counts
SIGMAS, CORRELATED = 6.0, 3.0  # of the difference of two medians; times over which errors of walking last
SPREADS = 1.5  # times the deviation that most have from both levels: a step stands out from those
MOSTLY = 0.8  # share that counts as most
RESTS, MOTION = 0.1, 4.0  # largest joint speed at rest [rad/s]; factor between speeds that are alike
EDGE_S = 0.5  # around the change that belong to neither part [s]


def load_change(table: Table) -> tuple[Finding, Change] | None:
    """Look for a step in what the contacts carry, as a share of the force that the motion needs.

    The force that the description predicts for the measured acceleration is in the denominator, so the steps
    of a walk hardly show. The longer part is examined further.
    """
    if table.robot.n_base != 6 or not table.measures_loads:
        return None
    expected, measured = table.force[:, :3], table.contact_force[:, :3]
    product, size = (measured * expected).sum(axis=1), np.linalg.norm(expected, axis=1)
    share = product / size**2
    known = (share > CARRIED[0]) & (share < CARRIED[1])
    cosine = product / (np.linalg.norm(measured, axis=1) * size)
    found = step(share[known])
    if found is None or not np.median(cosine[known]) > ALONG:
        return None
    at, before, after = found
    if not SOUND[0] < min(before, after) <= max(before, after) < SOUND[1]:
        return None
    speeds = [max(float(np.median(part)), RESTS) for part in np.split(table.speed[known], [at])]
    if max(speeds) > MOTION * min(speeds):
        return None  # rest and gait: what the description errs in differs, too
    times = table.signals.times_s[known]
    begins, mass = float(times[at]), (after - before) * table.robot.mass
    first = begins - times[0] >= times[-1] - begins
    part = "before" if first else "after"
    said = (
        f"the contacts carry {before:.2f} times the weight of the description before {begins:.1f} s and "
        f"{after:.2f} times after it ({mass:+.3g} kg): no single description fits both"
    )
    remedy = f"a load put on or taken off? The masses are judged {part} it; choose another part by --start"
    between = (-np.inf, begins - EDGE_S) if first else (begins + EDGE_S, np.inf)
    finding = Finding("load change", "recording", Verdict.WARN, mass, "kg", said, remedy)
    return finding, Change(between=between)


def step(share: Array) -> tuple[int, float, float] | None:
    """Return where a series changes its level most clearly, and both levels; None where it does not."""
    n = len(share)
    if n < 2 * FEWEST:
        return None
    sums = np.concatenate(([0.0], np.cumsum(share)))
    splits = np.arange(FEWEST, n - FEWEST + 1)
    left, right = sums[splits], sums[n] - sums[splits]
    at = int(splits[np.argmax(left**2 / splits + right**2 / (n - splits))])  # least squares of two levels
    before, after = float(np.median(share[:at])), float(np.median(share[at:]))
    deviation = float(np.median(np.concatenate((np.abs(share[:at] - before), np.abs(share[at:] - after)))))
    sigma = 1.86 * deviation * np.sqrt(CORRELATED * (1.0 / at + 1.0 / (n - at)))
    wide = max(
        float(np.quantile(np.abs(part - level), MOSTLY))
        for part, level in ((share[:at], before), (share[at:], after))
    )
    change = abs(after - before)
    return (at, before, after) if change > max(LEAST, SIGMAS * sigma, SPREADS * wide) else None
