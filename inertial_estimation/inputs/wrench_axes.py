"""Wrenches in the axes of their sensors, also where messages have them in those of the base."""

from inertial_estimation.errors import listing
from inertial_estimation.inputs.robot_inputs import RobotInputs
from inertial_estimation.models.body_placements import BodyPlacements
from inertial_estimation.models.robot_config import RobotSetup, WrenchAxes
from inertial_estimation.signals import Array


class SensorAxes:
    """Turns the wrenches of a robot into the axes of their wrench frames."""

    def __init__(self, setup: RobotSetup, inputs: RobotInputs) -> None:
        self._contacts, self._inputs, self._bodies = setup.contacts, inputs, BodyPlacements(setup.robot)

    @property
    def unknown(self) -> list[str]:
        """Contacts whose wrenches are in the axes of the world, which need the yaw of the base."""
        contacts = self._inputs.contacts.values()
        return [contact.name for contact in contacts if contact.axes is WrenchAxes.WORLD]

    @property
    def note(self) -> str:
        """Say that wrenches cannot be used for their axes; empty where none is."""
        said = f"the wrenches of {listing(self.unknown)} are in the axes of the world, whose yaw is not known"
        return said if self.unknown else ""

    def turned(self, wrenches: Array, q: Array) -> Array:
        """Return wrenches of all contacts in their wrench frames.

        Args:
            wrenches: In the axes of their messages, those of the sensor or of the base, shape (n, 6).
            q: Positions of the joints [rad or m], shape (n_joints,).
        """
        known = self._inputs.contacts
        axes = [known[c.name].axes if c.name in known else WrenchAxes.SENSOR for c in self._contacts]
        if WrenchAxes.BASE not in axes:
            return wrenches
        turned: Array = wrenches.copy()
        self._bodies.update(q)
        for i, contact in enumerate(self._contacts):
            if axes[i] is not WrenchAxes.SENSOR:
                R_BF, _position = self._bodies.frame_B(contact.wrench_frame)
                turned[i] = (axes[i].in_base(wrenches[i].reshape(2, 3), R_BF) @ R_BF).ravel()
        return turned
