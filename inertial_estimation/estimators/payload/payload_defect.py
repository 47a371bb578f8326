"""Check of an estimate of the trunk before it is published."""

from inertial_estimation.estimators.payload.payload_estimate import PayloadEstimate
from inertial_estimation.inertial.estimate_defect import have_finite_numbers, inertia_defect
from inertial_estimation.signals import LinkInertia


class PayloadCheck:
    """Names what is not finite or physically inconsistent; an inertia is examined when it has changed."""

    def __init__(self) -> None:
        self._trunk: LinkInertia | None = None

    def defect(self, estimate: PayloadEstimate) -> str:
        """Return the defect as a phrase; empty if there is none.

        Args:
            estimate: The estimate.
        """
        if not have_finite_numbers([estimate.estimate]):
            return "the estimate of the trunk is not finite"
        if estimate.trunk is self._trunk:
            return ""
        found = inertia_defect([estimate.trunk])
        self._trunk = None if found else estimate.trunk
        return found
