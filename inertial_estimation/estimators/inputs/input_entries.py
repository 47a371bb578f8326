"""The ways of all readings of a pipeline into the checks of the data and the aligner."""

from collections.abc import Mapping
from functools import partial

from inertial_estimation.data_checks.data_checks import DataChecks
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.joint_entry import JointEntry
from inertial_estimation.estimators.inputs.rows import IMU
from inertial_estimation.estimators.inputs.sensor_entry import SensorEntry
from inertial_estimation.message_numbers import IMU_LAYOUT, WRENCH_LAYOUT
from inertial_estimation.models.robot_config import check_contact
from inertial_estimation.signals import ImuSample, WrenchSample


class InputEntries:
    """The ways of joint states, IMU readings and wrenches.

    Attributes:
        checks: Checks of the data, which take all of them.
        aligner: The aligned inputs.
        joints: Of joint states.
        imu: Of IMU readings.
        wrenches: Of the wrenches of each contact.
    """

    def __init__(
        self,
        checks: DataChecks,
        aligner: SignalAligner,
        joints: JointEntry,
        *,
        imu: bool,
        wrenches: Mapping[str, str],
    ) -> None:
        """Take where readings go.

        Args:
            checks: Checks of the data, which take all of them.
            aligner: The aligned inputs.
            joints: The way of the joint states.
            imu: Whether the readings of the IMU are aligned.
            wrenches: Names of the aligned inputs by contact, of those that are aligned.
        """
        self.checks, self.aligner, self.joints = checks, aligner, joints
        checked = checks.inputs
        self.imu = SensorEntry(IMU_LAYOUT, checked.imu, checks.see_imu, aligner, IMU if imu else "")
        self.wrenches = {
            contact: SensorEntry(
                WRENCH_LAYOUT, one, partial(checks.see_wrench, contact), aligner, wrenches.get(contact, "")
            )
            for contact, one in checked.wrenches.items()
        }

    def share_checks(self, others: "InputEntries") -> None:
        """Leave the checks of the data to those of another pipeline, if they would find the same.

        Args:
            others: Ways into a pipeline that reads the same messages.
        """
        if self.checks.are_like(others.checks):
            self.checks.leave_to(others.checks)

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        self.imu.push(sample.stamp_ns, sample.specific_force_I, sample.angular_rate_I)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact.

        Raises:
            MeasurementError: If there is no such contact.
        """
        if contact not in self.wrenches:
            check_contact(contact, tuple(self.wrenches))
        self.wrenches[contact].push(sample.stamp_ns, sample.wrench_F)
