"""What a check found, and what mends it: in the recorded streams, and in the parameter file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from inertial_estimation.bring_up.cause import Cause
from inertial_estimation.bring_up.streams import RobotStreams
from inertial_estimation.data_checks.check_result import CheckResult, Verdict

Mend = Callable[[RobotStreams], RobotStreams]


@dataclass(frozen=True, eq=False)
class Finding:
    """A result with its remedy in numbers.

    Attributes:
        result: What was found.
        mend: Corrects the streams, so that later checks are not misled; None where nothing does.
        joint_offsets: Offset to add to a joint's position, by joint [rad].
        drive_gains: Factor of a joint's effort, by joint.
        parameters: Values of other parameters of all nodes, by dotted name.
        exact: Whether the mend is certain enough for masses to be judged after it.
        explained_by: Whether a cause that is named with the masses explains it; None: none does.
    """

    result: CheckResult
    mend: Mend | None = None
    joint_offsets: Mapping[str, float] = field(default_factory=dict)
    drive_gains: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    exact: bool = True
    explained_by: Callable[[Cause], bool] | None = None

    @property
    def wrong(self) -> bool:
        """Whether the data contradict the description."""
        return self.result.verdict is Verdict.WRONG


def finding(
    check: str,
    subject: str,
    verdict: Verdict,
    value: float,
    unit: str,
    sentence: str,
    remedy: str = "",
    *,
    mend: Mend | None = None,
    parameters: Mapping[str, object] | None = None,
    exact: bool = True,
) -> Finding:
    """Return a finding; see `CheckResult` and `Finding` for the arguments."""
    result = CheckResult(check, subject, verdict, value, unit, sentence, remedy)
    return Finding(result, mend, parameters=parameters or {}, exact=exact)


def cannot_tell(check: str, subject: str, why: str, remedy: str = "") -> Finding:
    """Return the finding that the data do not determine a result, why, and what may help."""
    return finding(check, subject, Verdict.UNKNOWN, float("nan"), "", why, remedy)


def plain(result: CheckResult) -> Finding:
    """Return a result that nothing but the driver can mend."""
    return Finding(result)
