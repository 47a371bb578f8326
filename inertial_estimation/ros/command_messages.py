"""Message conversions of references and commands of a controller, in pairs, and of simulation time."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from geometry_msgs.msg import PoseStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from inertial_estimation.control.references import WalkCommand
from inertial_estimation.errors import MeasurementError
from inertial_estimation.inputs.messages import set_stamp, stamp_from_msg
from inertial_estimation.ros.serialised_numbers import SerialisedNumbers
from inertial_estimation.signals import BaseReference, TorqueCommand
from inertial_estimation.spatial.rotations import (
    roll_pitch_of,
    rotation_from_quaternion,
)

NORM_TOLERANCE = 0.01


def torque_command_to_msg(command: TorqueCommand) -> JointState:
    """Convert joint torques to sensor_msgs/JointState: effort by name [Nm], stamp of the state answered."""
    msg = JointState(name=list(command.names), effort=command.tau.tolist())
    set_stamp(msg.header.stamp, command.stamp_ns)
    return msg


def torque_command_bytes(names: tuple[str, ...]) -> Callable[[TorqueCommand], bytes]:
    """Return `torque_command_to_msg` with serialisation, for commands of the same joints."""
    message = SerialisedNumbers(
        lambda stamp_ns, tau: torque_command_to_msg(TorqueCommand(stamp_ns, names, np.array(tau))), len(names)
    )
    return lambda command: message.filled(command.stamp_ns, command.tau.tolist())


def torque_command_from_msg(msg: JointState) -> TorqueCommand:
    """Inverse of `torque_command_to_msg`; positions and velocities are not read.

    Raises:
        MeasurementError: If there is not one effort per name.
    """
    return TorqueCommand(stamp_from_msg(msg.header.stamp), tuple(msg.name), np.array(msg.effort))


def effort_array_to_msg(command: TorqueCommand, joints: tuple[str, ...]) -> Float64MultiArray:
    """Convert joint torques to std_msgs/Float64MultiArray: data [Nm] in a given order, without stamp.

    Args:
        command: The torques.
        joints: Joints of the array, in its order. The command has all of them; its other joints are left out.
    """
    return Float64MultiArray(data=command.tau[_places(command.names, joints)].tolist())


def effort_array_bytes(names: tuple[str, ...], joints: tuple[str, ...]) -> Callable[[TorqueCommand], bytes]:
    """Return `effort_array_to_msg` with serialisation, for commands of the same joints."""
    message = SerialisedNumbers(
        lambda stamp_ns, tau: effort_array_to_msg(TorqueCommand(stamp_ns, joints, np.array(tau)), joints),
        len(joints),
    )
    places = _places(names, joints)
    return lambda command: message.filled(command.stamp_ns, command.tau[places].tolist())


@lru_cache(maxsize=8)
def _places(names: tuple[str, ...], joints: tuple[str, ...]) -> list[int]:
    """Return the indices of joints in a sequence of names."""
    return [names.index(joint) for joint in joints]


def base_reference_from_msg(msg: PoseStamped) -> BaseReference:
    """Inverse of `estimate_messages.base_reference_to_msg`.

    Not read are x, y and the yaw of R = Rz(yaw) Ry(pitch) Rx(roll).

    Raises:
        MeasurementError: If the height is not finite, or the quaternion is not of unit norm.
    """
    q = msg.pose.orientation
    quaternion_xyzw = np.array((q.x, q.y, q.z, q.w))
    norm = math.hypot(q.x, q.y, q.z, q.w)  # does not overflow
    if not abs(norm - 1.0) < NORM_TOLERANCE:
        raise MeasurementError(f"the orientation of a base reference has norm {norm:g}, expected 1")
    return BaseReference(msg.pose.position.z, *roll_pitch_of(rotation_from_quaternion(quaternion_xyzw)))


def walk_command_to_msg(command: WalkCommand) -> Float64MultiArray:
    """Convert a walk command to std_msgs/Float64MultiArray: data [number of steps, step length in m]."""
    msg = Float64MultiArray(data=[float(command.steps), float(command.length)])
    msg.layout.dim = [MultiArrayDimension(label="steps, length", size=2, stride=2)]
    return msg


def walk_command_from_msg(msg: Float64MultiArray) -> WalkCommand:
    """Inverse of `walk_command_to_msg`.

    Raises:
        MeasurementError: If there are not two numbers, or the first is no count.
    """
    data = [float(value) for value in msg.data]
    if len(data) != 2 or not data[0].is_integer():
        raise MeasurementError(f"walk command {data}, expected [number of steps, length of one in m]")
    return WalkCommand(int(data[0]), data[1])


def clock_to_msg(stamp_ns: int) -> Clock:
    """Convert the time of a simulation to rosgraph_msgs/Clock."""
    msg = Clock()
    set_stamp(msg.clock, stamp_ns)
    return msg
