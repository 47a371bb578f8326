"""The inertial filters by name; each is imported when it is built.

Every node knows the names of all parameters and their choices. SciPy's linear algebra, which only the filters
need, would take a third of the time that the tilt observer needs to start.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from inertial_estimation.errors import ConfigurationError, did_you_mean
from inertial_estimation.estimators.inertial.gate import InnovationGate
from inertial_estimation.estimators.inertial.prior import PriorSigma
from inertial_estimation.models.body_reference import BodyReference

if TYPE_CHECKING:
    from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter

FilterFactory = Callable[
    [tuple[BodyReference, ...], PriorSigma, InnovationGate, float, float, str, PriorSigma | None],
    "InertialFilter",
]


def _log_cholesky(
    bodies: tuple[BodyReference, ...],
    prior: PriorSigma,
    gate: InnovationGate,
    memory: float,
    overlap: float,
    convention: str,
    walk: PriorSigma | None,
) -> "InertialFilter":
    """Build the filter in log-Cholesky coordinates."""
    from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf

    return LogCholeskyEkf(bodies, prior, gate, memory, overlap, convention, walk)


def _linear_kalman(
    bodies: tuple[BodyReference, ...],
    prior: PriorSigma,
    gate: InnovationGate,
    memory: float,
    overlap: float,
    convention: str,
    walk: PriorSigma | None,
) -> "InertialFilter":
    """Build the linear filter, whose coordinates are the parameters themselves in any convention."""
    from inertial_estimation.estimators.inertial.linear_kalman import LinearKalman

    return LinearKalman(bodies, prior, gate, memory, overlap, walk)


FILTERS: dict[str, FilterFactory] = {"log_cholesky": _log_cholesky, "linear": _linear_kalman}


def filter_named(name: str) -> FilterFactory:
    """Return the factory of a filter.

    Its arguments are the bodies, the prior, the gate, the time constant of the pull to nominal [s], the
    updates per independent measurement, the convention of log-Cholesky coordinates, and the standard
    deviations of a random walk after one second (None: the parameters return to nominal).

    Args:
        name: Name of the filter in `FILTERS`.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if name not in FILTERS:
        raise ConfigurationError(f"no inertial filter '{name}'{did_you_mean(name, FILTERS, 'there are')}")
    return FILTERS[name]
