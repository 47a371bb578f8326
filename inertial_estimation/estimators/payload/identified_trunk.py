"""Trunk as estimated, as published and as expected at rest, with the values a failure falls back to."""

from inertial_estimation.estimators.payload.com_method import ComStep
from inertial_estimation.estimators.payload.height_uncertainty import deviation_with_height
from inertial_estimation.estimators.payload.load_change_detector import LoadChangeDetector
from inertial_estimation.estimators.payload.payload_config import LoadChangeConfig
from inertial_estimation.estimators.payload.trunk_measurer import (
    TrunkReading,
    across_gravity,
    implausible_mass,
)
from inertial_estimation.estimators.payload.trunk_value import TrunkValue, unmeasured_trunk
from inertial_estimation.signals import Array


class IdentifiedTrunk:
    """Mass and centre of mass of the trunk throughout the phases of its identification.

    Attributes:
        load_changes: Compares measurements with the trunk expected at rest.
        value: The estimate; changes while an identification runs.
        target: Value to be published; follows the estimate once that is usable.
        fallback: Value that is restored when the identification fails.
        weighed_at: Roll and pitch of the base when the mass was last identified [rad].
    """

    def __init__(self, config: LoadChangeConfig, mass: float, com_B: Array, size: float) -> None:
        """Begin with the nominal trunk.

        Args:
            config: Limits of a load change.
            mass: Nominal mass of the trunk [kg].
            com_B: Nominal centre of mass in the base frame [m], shape (3,).
            size: Nominal radius of gyration of the trunk [m].
        """
        self._size = size
        self._nominal = unmeasured_trunk(mass, com_B)
        self.load_changes = LoadChangeDetector(config, mass, com_B)
        self.value = self.target = self.fallback = self._nominal
        self._expected_before = self.load_changes.expectation
        self.weighed_at = (0.0, 0.0)

    def reset(self) -> None:
        """Return to the nominal trunk."""
        self.value = self.target = self.fallback = self._nominal
        self.load_changes.expect(self._nominal.mass, self._nominal.com_B)
        self.keep_expectation()
        self.weighed_at = (0.0, 0.0)

    def keep_value(self) -> None:
        """Make the present estimate the one that a failure restores."""
        self.fallback = self.value

    def keep_expectation(self) -> None:
        """Make the trunk expected now the one that a failure restores."""
        self._expected_before = self.load_changes.expectation

    def shows_trunk_before(self, reading: TrunkReading) -> bool:
        """Return whether one foot's force contradicts the trunk in force and the one before it explains all.

        Args:
            reading: Measurement at rest.
        """
        detector = self.load_changes
        return detector.lone.foot is not None and detector.shows(reading, self._expected_before)

    def discard_estimate(self) -> None:
        """Restore estimate and published value; what is expected at rest stays."""
        self.value = self.target = self.fallback

    def fall_back(self) -> None:
        """Restore estimate, published value and what is expected at rest."""
        self.discard_estimate()
        self.load_changes.restore(self._expected_before)

    def found(self, step: ComStep, up_B: Array, load_height: float) -> TrunkValue:
        """Return the present mass with a centre of mass that a method has found.

        Args:
            step: State of the method.
            up_B: The vertical in the base frame, shape (3,).
            load_height: Standard deviation of the height of a load [m]; 0: the trunk's radius of gyration.
        """
        mass, nominal = self.value.mass, self._nominal
        height = (load_height or self._size) * abs(mass - nominal.mass) / mass
        sigma_B = deviation_with_height(step.sigma_B, step.com_B - nominal.com_B, up_B, height)
        return TrunkValue(mass, step.com_B, self.value.mass_sigma, sigma_B, step.residual)

    def implausible(self, mass: float) -> str:
        """Return why the trunk cannot have a mass [kg]; empty if it can."""
        return implausible_mass(mass, self._nominal.mass)

    def completed_along_gravity(self, com_B: Array, reading: TrunkReading) -> Array:
        """Return a centre of mass whose part along gravity, which no force shows, is that of the estimate.

        Args:
            com_B: Centre of mass, base frame [m], shape (3,).
            reading: Measurement with the orientation of the base.
        """
        R_WB = reading.measurement.R_WB
        along_B = self.value.com_B - across_gravity(self.value.com_B, R_WB)
        return across_gravity(com_B, R_WB) + along_B
