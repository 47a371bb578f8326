"""The ways of all readings of a pipeline into the aligner."""

from collections.abc import Mapping

from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.joint_entry import JointEntry
from inertial_estimation.estimators.inputs.live_checks import LiveChecks
from inertial_estimation.estimators.inputs.rows import IMU
from inertial_estimation.estimators.inputs.sensor_entry import SensorEntry
from inertial_estimation.message_numbers import IMU_LAYOUT, WRENCH_LAYOUT
from inertial_estimation.models.robot_config import check_contact
from inertial_estimation.signals import ImuSample, WrenchSample


class InputEntries:
    """The ways of joint states, IMU readings and wrenches.

    Attributes:
        checks: Checks of the data in the aligner.
        aligner: The aligned inputs.
        joints: Of joint states.
        imu: Of IMU readings; None where they are not used.
        wrenches: Of the wrenches of each contact whose wrench is used.
    """

    def __init__(
        self,
        checks: LiveChecks,
        aligner: SignalAligner,
        joints: JointEntry,
        *,
        imu: bool,
        wrenches: Mapping[str, str],
        contacts: tuple[str, ...],
    ) -> None:
        """Take where readings go.

        Args:
            checks: Checks of the data in the aligner.
            aligner: The aligned inputs.
            joints: The way of the joint states.
            imu: Whether the readings of the IMU are used.
            wrenches: Names of the aligned inputs by contact, of those that are used.
            contacts: Names of all contacts.
        """
        self.checks, self.aligner, self.joints = checks, aligner, joints
        self._contacts = contacts
        self.imu = SensorEntry(IMU_LAYOUT, aligner, IMU) if imu else None
        self.wrenches = {
            contact: SensorEntry(WRENCH_LAYOUT, aligner, name) for contact, name in wrenches.items()
        }

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading; it is ignored where none is used."""
        if self.imu is not None:
            self.imu.push(sample.stamp_ns, sample.specific_force_I, sample.angular_rate_I)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact; it is ignored where it is not used.

        Raises:
            MeasurementError: If there is no such contact.
        """
        if contact in self.wrenches:
            self.wrenches[contact].push(sample.stamp_ns, sample.wrench_F)
        else:
            check_contact(contact, self._contacts)
