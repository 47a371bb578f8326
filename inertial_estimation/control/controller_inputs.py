"""Inputs of the controller: state of joints and base at one time, contact forces, impossible readings."""

import math
from typing import NamedTuple

import numpy as np

from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.inputs.alignment import AlignedSample
from inertial_estimation.inputs.contacts import ContactInput, ContactSource
from inertial_estimation.inputs.joints import JOINTS, JointPart
from inertial_estimation.inputs.possible import DropReason
from inertial_estimation.inputs.robot_inputs import BASE_STATE, RobotInputs
from inertial_estimation.inputs.stream import Stream
from inertial_estimation.models.joint_corrections import joint_corrections
from inertial_estimation.models.robot_config import RobotSetup, WrenchAxes
from inertial_estimation.models.whole_body_dynamics import BaseMotion
from inertial_estimation.signals import NANOSECONDS, Array, JointSample
from inertial_estimation.spatial.rotations import quaternion_from_rotation

FORCE_AGE_S = 0.02  # for which a force before a joint state still shows a touchdown
VELOCITY_AGE_NS = NANOSECONDS // 10  # of the last velocities that are used for damping
IMPOSSIBLE = (
    *(DropReason.NOT_FINITE, DropReason.OUT_OF_RANGE),
    *(DropReason.CONTRADICTION, DropReason.NO_DIRECTION),
)


class Refusal(NamedTuple):
    """A reading of joints or base that is impossible, so that the robot's state is not known."""

    stamp_ns: int  # of its arrival
    text: str  # the input and what is wrong with it
    v: Array  # velocities of the joints as far as they are known, possible or not [rad/s], shape (n,)


class ControllerInputs:
    """Sensors of the robot and its base state, as the controller uses them.

    Attributes:
        robot: Takes readings and messages; joint states are the steps, at which the base is interpolated.
    """

    def __init__(self, config: ControllerConfig, setup: RobotSetup) -> None:
        """Begin empty.

        Args:
            config: All parameters.
            setup: The robot and its contacts, which matter for a floating base only.
        """
        floating, parameters = setup.robot.floating_base, config.robot
        source = ContactSource.WRENCH if floating else ContactSource.NONE
        self.robot = RobotInputs(
            setup,
            parameters,
            driver=JOINTS,
            imu=False,
            sources=dict.fromkeys(setup.contact_names, source),
            await_contacts=False,  # they show early and late touchdowns
            base_state=floating,
            heading=floating,
            corrections=joint_corrections(parameters.joint_offsets, parameters.drive_gains, setup.robot),
        )
        assert self.robot.joints is not None
        self.joint_states, self._soles = self.robot.joints, bool(config.stance.soles)
        self._impossible: dict[str, int] = {}  # number of those that are known, by stream

    def joints(self, sample: AlignedSample) -> JointSample:
        """Return the state of the joints of a sample."""
        columns = self.joint_states.columns
        return JointSample(sample.stamp_ns, sample.driver[columns.q], sample.driver[columns.v])

    def base(self, sample: AlignedSample) -> BaseMotion | None:
        """Return the motion of a floating base of a sample that has it; None for a fixed one."""
        row = sample.rows.get(BASE_STATE)
        if row is None:
            return None
        z = row[6:9] / math.sqrt(row[6:9] @ row[6:9])
        x = row[9:12] - (row[9:12] @ z) * z
        x /= math.sqrt(x @ x)
        R_WB = np.array((x, np.cross(z, x), z))
        return BaseMotion(quaternion_from_rotation(R_WB), row[0:3], row[3:6])

    def normal_forces(self, sample: AlignedSample) -> list[float | None]:
        """Return the newest normal force of each contact before a sample [N]; None where it is older.

        Not that of its time itself: over DDS it may come before or after the joint state.
        """
        return [self._force(contact, sample) for contact in self.robot.contacts.values()]

    def _force(self, contact: ContactInput, sample: AlignedSample) -> float | None:
        row = self.robot.aligner.latest(contact.stream.spec.name, sample.time_ns - 1, FORCE_AGE_S)
        if row is None:
            return None
        if not self._soles:  # a point, whose axes turn as it rolls
            return math.sqrt(row[:3] @ row[:3])
        base = sample.rows.get(BASE_STATE)
        if contact.axes is WrenchAxes.BASE and base is not None:
            return float(row[:3] @ base[6:9])
        return float(row[2])

    def refusal(self) -> Refusal | None:
        """Return the last impossible reading of joints or base since the last call; None: there was none."""
        streams = [part.stream for part in self.joint_states.parts]
        streams += [self.robot.streams[BASE_STATE]] if BASE_STATE in self.robot.streams else []
        counts = {stream.spec.name: _impossible(stream) for stream in streams}
        fresh = [one for one in streams if counts[one.spec.name] > self._impossible.get(one.spec.name, 0)]
        self._impossible = counts
        if not fresh:
            return None
        last = fresh[-1]
        v = np.zeros(self.joint_states.columns.n)
        for part in self.joint_states.parts:
            v[part.joints] = _velocities(part)
        name = BASE_STATE if last.spec.name == BASE_STATE else JOINTS
        return Refusal(last.drops.arrival_ns, f"{name}: {last.drops.summary}", v)


def _impossible(stream: Stream) -> int:
    """Return the number of impossible readings of a stream."""
    return sum(stream.drops.counts.get(reason, 0) for reason in IMPOSSIBLE)


def _velocities(part: JointPart) -> Array:
    """Return the velocities of the last reading of some joints; zero where it is old."""
    stream, columns = part.stream, slice(len(part.joints), 2 * len(part.joints))
    if stream.rejected and stream.rejected[-1][0] == stream.arrival_ns:
        return stream.rejected[-1][1][columns]
    newest = stream.ring.newest_ns
    if newest is None or stream.arrival_ns - newest > VELOCITY_AGE_NS:
        return np.zeros(len(part.joints))
    return stream.ring.rows[stream.ring.end - 1, columns]
