"""The inputs pipelines share: their names, and how readings become rows of an aligner."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from inertial_estimation.errors import MeasurementError, listing
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.signals import BaseState, ImuSample, JointReading, WrenchSample

__all__ = ["BASE_STATE", "IMU", "JOINTS", "InputPushes", "RobotInputs", "wrench_stream"]

JOINTS, IMU, BASE_STATE = "joint_states", "imu/data", "base_state"


def wrench_stream(contact: str) -> str:
    """Return the name of a contact's wrench input."""
    return f"{contact}/wrench"


class RobotInputs(ABC):
    """Takes readings into an aligner; joint states set the steps.

    Attributes:
        aligner: The buffers.
    """

    aligner: SignalAligner
    _with_imu: bool
    _contacts: tuple[str, ...]  # whose wrenches are needed

    @abstractmethod
    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state; one that does not fit the model is dropped and counted."""

    @abstractmethod
    def push_base_state(self, state: BaseState) -> None:
        """Take a base state, ignored where not needed."""

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading, ignored where not needed."""
        if self._with_imu:
            row = np.concatenate((sample.specific_force_I, sample.angular_rate_I))
            self.aligner.push(IMU, sample.stamp_ns, row)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take a contact wrench, ignored where not needed."""
        if contact in self._contacts:
            self.aligner.push(wrench_stream(contact), sample.stamp_ns, sample.wrench_C)


InputsT = TypeVar("InputsT", bound=RobotInputs)


class InputPushes(Generic[InputsT]):
    """The readings a pipeline takes, handed on to its inputs."""

    _inputs: InputsT
    _contact_names: tuple[str, ...]

    def push_imu(self, sample: ImuSample) -> None:
        """Take an IMU reading."""
        self._inputs.push_imu(sample)

    def push_joints(self, reading: JointReading) -> None:
        """Take a joint state, joints by name in any order."""
        self._inputs.push_joints(reading)

    def push_wrench(self, contact: str, sample: WrenchSample) -> None:
        """Take the wrench of a contact.

        Raises:
            MeasurementError: If there is no such contact.
        """
        if contact not in self._contact_names:
            raise MeasurementError(f"no contact '{contact}'; there are {listing(self._contact_names)}")
        self._inputs.push_wrench(contact, sample)

    def push_base_state(self, state: BaseState) -> None:
        """Take a base state, ignored where not needed."""
        self._inputs.push_base_state(state)
