"""Parameters of the measurement equation: the rows in use and the source of the base's acceleration."""

from dataclasses import dataclass

from inertial_estimation.models.measurement_rows import ContactMode, RowSelection
from inertial_estimation.parameters import parameter


@dataclass(frozen=True)
class RowsConfig:
    """Rows of the equation of motion in use; shared by the online filters and the offline identification."""

    base_rows: bool = parameter(
        True, "Whether the six rows of the floating base's equations of motion are used."
    )
    torque_rows: tuple[str, ...] = parameter(
        ("*",), "Joints whose measured torque is used, by name or shell pattern; empty uses none."
    )
    contact_wrenches: str = parameter(
        "measured",
        "Treatment of contact wrenches: measured, unknown and projected out, measured except for the forces "
        "along x and y of the wrench frame, which are projected out (horizontal_projected), estimated from "
        "the torques of the limbs, or none.",
        choices=tuple(mode.value for mode in ContactMode),
    )
    point_contacts: bool = parameter(False, "Whether contacts transmit a force but no moment (point feet).")
    base_acceleration: str = parameter(
        "accelerometer",
        "Source of the base's acceleration: the accelerometer of the IMU, or finite differences of the "
        "velocity in the base state.",
        choices=("accelerometer", "finite_difference"),
    )

    def selection(self) -> RowSelection:
        """Return the selection of rows for the measurement equation."""
        mode = ContactMode(self.contact_wrenches)
        return RowSelection(self.base_rows, self.torque_rows, mode, self.point_contacts)
