"""The figures of the trunk's identification as named numbers."""

from inertial_estimation.estimators.payload.payload_config import METHODS
from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate, Phase
from inertial_estimation.estimators.telemetry import AGE, mass_names, mass_values

# The number of a phase or a method is its place here.
PHASES = tuple(phase.value for phase in Phase)
_PHASE_NUMBERS = {phase: float(number) for number, phase in enumerate(Phase)}
_METHOD_NUMBERS = {method: float(number) for number, method in enumerate(METHODS)}


class PayloadTelemetry:
    """The figures of an estimate of the trunk.

    Attributes:
        names: Of the figures.
    """

    def __init__(self, trunk: str) -> None:
        """Name them.

        Args:
            trunk: Name of the trunk's link.
        """
        self.names = (
            *mass_names(trunk),
            "phase",
            "method",
            "at_rest",
            "hold",
            "converged",
            "refused",
            "residual [m]",
            AGE,
        )

    def values(self, estimate: PayloadEstimate, age_s: float) -> list[float]:
        """Return the figures of an estimate, in the order of their names.

        Args:
            estimate: Result of the identification.
            age_s: Its age [s].
        """
        sigmas = (estimate.mass_sigma, *estimate.com_sigma_B.tolist())
        return [
            *mass_values(estimate.estimate, estimate.trunk, estimate.payload, sigmas),
            _PHASE_NUMBERS[estimate.phase],
            _METHOD_NUMBERS[estimate.method],
            float(estimate.at_rest),
            float(estimate.hold),
            float(estimate.converged),
            float(bool(estimate.refusal)),
            estimate.residual,
            age_s,
        ]
