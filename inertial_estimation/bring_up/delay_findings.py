"""How a time offset is judged, and the finding that an input comes late, with the delay that mends it."""

from collections.abc import Iterable
from functools import partial

from inertial_estimation.bring_up.finding import Finding, finding
from inertial_estimation.bring_up.lag_search import Lag
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.data_checks.check_result import Verdict

NOTICED_S, LATE_S = 0.012, 0.03  # offsets that are unusual, and that corrupt estimates of moving robots [s]
SIGMAS = 4.0
IMPROVED = 0.1  # share of what does not agree that the shift must remove,
SURE_SIGMAS = 8.0  # unless it is as certain as this
AGREE = 0.5  # agreement after the shift, below which it means nothing


def lag_verdict(lag: Lag | None, agree: float = AGREE) -> Verdict | None:
    """Judge a time offset; None where the data do not determine it, or agree too little after the shift."""
    if lag is None or lag.score < agree or lag.at_edge or not lag.sigma < NOTICED_S:
        return None
    improved = (lag.score - lag.unshifted) / max(1.0 - lag.unshifted, 1e-6)
    size = abs(lag.seconds)
    if size < max(NOTICED_S, SIGMAS * lag.sigma):
        return Verdict.OK
    if improved < IMPROVED:
        return Verdict.WARN if size > max(LATE_S, SURE_SIGMAS * lag.sigma) else Verdict.OK
    return Verdict.WRONG if size > LATE_S else Verdict.WARN


def delay_finding(
    check: str,
    subject: str,
    lag: Lag,
    verdict: Verdict,
    said: str,
    *,
    parameter: str,
    present_s: float,
    inputs: Iterable[str],
    also: str = "",
) -> Finding:
    """Return the finding of how late inputs are, and the parameter that mends it where they are.

    Args:
        check: Name of the check.
        subject: What it is about.
        lag: The time offset.
        verdict: What `lag_verdict` says of it.
        said: The sentence.
        parameter: Parameter that sets the delay of these inputs.
        present_s: Its present value [s].
        inputs: Names of these inputs.
        also: Added to the remedy.
    """
    late = lag.seconds
    if verdict is Verdict.OK:
        return finding(check, subject, verdict, 1e3 * late, "ms", said)
    delay = round(present_s + late, 4)
    return finding(
        check,
        subject,
        verdict,
        1e3 * late,
        "ms",
        said,
        f"set {parameter} to {delay:g}, or stamp at the time of measurement{also}",
        mend=partial(RobotStreams.delayed, seconds=dict.fromkeys(inputs, -late)),
        parameters={parameter: delay},
    )
