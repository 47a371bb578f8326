"""Parameters of the measurement equation: which rows are measured, whence the base acceleration."""

from dataclasses import dataclass

from inertial_estimation.models.measurement_rows import ContactMode, RowSelection
from inertial_estimation.parameters import parameter

__all__ = ["RowsConfig"]


@dataclass(frozen=True)
class RowsConfig:
    """The rows of the equation of motion, the same online and offline."""

    base_rows: bool = parameter(True, "Whether the six rows of a floating base are used.")
    torque_rows: tuple[str, ...] = parameter(
        ("*",), "Joints whose torque is measured and used, by name or shell pattern; empty: none."
    )
    contact_wrenches: str = parameter(
        "measured",
        "Contact wrenches: measured, unknown and projected out, estimated from the limbs' torques, or none.",
        choices=("measured", "projected", "estimated", "none"),
    )
    point_contacts: bool = parameter(False, "Whether contacts carry a force but no moment.")
    base_acceleration: str = parameter(
        "accelerometer",
        "Source of the base's acceleration: the IMU, or differences of the base state's velocity.",
        choices=("accelerometer", "finite_difference"),
    )

    def selection(self) -> RowSelection:
        """Return the rows as the measurement equation takes them."""
        mode = ContactMode(self.contact_wrenches)
        return RowSelection(self.base_rows, self.torque_rows, mode, self.point_contacts)
