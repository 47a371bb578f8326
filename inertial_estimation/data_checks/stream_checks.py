"""Checks of names, rates and stamps of the inputs."""

from collections.abc import Iterable

from inertial_estimation.data_checks.check_result import CheckResult, Verdict
from inertial_estimation.data_checks.stream_statistics import StreamStatistics
from inertial_estimation.errors import listing
from inertial_estimation.signals import seconds

BURSTS = 0.1  # share of the steps that are a fifth of the mean step or less
OFTEN, BATCHED = 0.03, 0.5  # shares of gaps and of short steps between them, from which they are batches
GAPS = 0.001  # share of the steps that are gaps
LOST = 0.01  # share of the time that is lost in gaps
DISORDER = 0.001  # share of the stamps that are not after their predecessor
SLOWEST = 20.0  # rate below which windows of 0.1 s hold too few samples to differentiate [Hz]
FEWEST = 50  # readings


def name_checks(missing: tuple[str, ...]) -> list[CheckResult]:
    """Check that the joint states have all joints of the model."""
    if not missing:
        return [CheckResult("joint names", "joint_states", Verdict.OK, 0.0, "", "all joints are there")]
    said = f"{len(missing)} joints of the description are missing: {listing(missing)}"
    remedy = "name them in locked_joints if they do not move, or correct the names in the driver"
    return [CheckResult("joint names", "joint_states", Verdict.WRONG, float(len(missing)), "", said, remedy)]


def stamp_checks(streams: Iterable[StreamStatistics]) -> list[CheckResult]:
    """Check rates, gaps, bursts and order of the stamps of every input."""
    return [result for stream in streams if stream.count for result in _stream(stream)]


def _stream(stream: StreamStatistics) -> list[CheckResult]:
    n, name, results = stream.count, stream.name, []

    def unusual(check: str, value: float, unit: str, said: str, remedy: str) -> None:
        results.append(CheckResult(check, name, Verdict.WARN, value, unit, said, remedy))

    if stream.backward + stream.repeated > max(DISORDER * n, 2):
        said = f"{stream.backward} stamps go back in time and {stream.repeated} repeat the one before"
        count = float(stream.backward + stream.repeated)
        unusual(
            "stamps",
            count,
            "",
            said,
            "does more than one publisher send it? Stamp at the time of measurement",
        )
    batches = stream.gaps > OFTEN * n and stream.batched > BATCHED * n  # they wait for one another
    lost = stream.lost_s > LOST * (stream.lost_s + seconds(stream.span_ns))
    if stream.gaps > 1 and not batches and (lost or stream.gaps > GAPS * n):
        said = f"{stream.gaps} gaps, the longest of {stream.longest_s:.3g} s"
        unusual(
            "gaps", stream.longest_s, "s", said, "check quality of service and load; or raise inputs.max_gap"
        )
    bursts = stream.batched if batches else stream.bursts
    if n >= FEWEST and bursts > BURSTS * n:
        said = f"{100 * bursts / n:.0f} % of the stamps come in bursts: they are times of arrival"
        unusual(
            "bursts",
            bursts / n,
            "",
            said,
            "stamp at the time of measurement; inputs.stamps 'regularise'",
        )
    if n >= FEWEST and 0.0 < stream.rate < SLOWEST:
        said = f"{stream.rate:.3g} Hz, expected {SLOWEST:g} Hz or more"
        unusual("rate", stream.rate, "Hz", said, "raise the rate of the driver, or inputs.max_gap and window")
    if not results:
        results.append(CheckResult("stamps", name, Verdict.OK, stream.rate, "Hz", f"{stream.rate:.4g} Hz"))
    return results
