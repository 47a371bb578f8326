"""Messages of rclpy read from their bytes, transforms, events, and requests.

All other conversions are those of `inputs.messages` and `recordings.estimate_messages`, which
bags use, too.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import deserialize_message
from std_msgs.msg import Bool

from inertial_estimation.errors import ConfigurationError, MeasurementError
from inertial_estimation.inputs.messages import MessageReader, set_stamp, stamp_from_msg
from inertial_estimation.payload.report import KIND, PayloadEvent
from inertial_estimation.recordings.estimate_messages import event_to_msg, health_from_msg
from inertial_estimation.signals import BaseState, Health


def message_class(message_type: str) -> type[Any]:
    """Return the class of the messages of a type.

    Args:
        message_type: ``package/msg/Name``.

    Raises:
        ConfigurationError: If its package is not in the workspace.
    """
    package, name = message_type.split("/")[0], message_type.split("/")[-1]
    try:
        found: type[Any] = getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"messages of type {message_type} are not known here ({error}): source a workspace that has them"
        ) from error
    return found


def type_of(message_type: type) -> str:
    """Return the type of messages of a class, ``package/msg/Name``."""
    return f"{message_type.__module__.partition('.')[0]}/msg/{message_type.__name__}"


def deserializer(message_type: type) -> Callable[[bytes], Any]:
    """Return what builds messages of a class from their bytes."""
    return partial(deserialize_message, message_type=message_type)


def message_reader(message_type: type, convert: Callable[[Any], Any] | None = None) -> Callable[[bytes], Any]:
    """Return a function that reads serialised messages of a class; see `inputs.messages.MessageReader`.

    Args:
        message_type: Class of the messages.
        convert: Message to value, where it is not the conversion registered for the type.
    """
    return MessageReader(type_of(message_type), deserializer(message_type), convert).read


def base_state_to_transform(state: BaseState, world_frame: str, base_frame: str) -> TransformStamped:
    """Convert the pose of the base to the transform world -> base."""
    msg = TransformStamped()
    set_stamp(msg.header.stamp, state.stamp_ns)
    msg.header.frame_id = world_frame
    msg.child_frame_id = base_frame
    t, q = msg.transform.translation, msg.transform.rotation
    t.x, t.y, t.z = state.p_WB.tolist()
    q.x, q.y, q.z, q.w = state.quaternion_xyzw.tolist()
    return msg


def event_to_array(event: Health, stamp_ns: int, node_name: str) -> DiagnosticArray:
    """Convert an event to diagnostic_msgs/DiagnosticArray with one status.

    Args:
        event: What has happened, as the state of one part; its kind is the first value.
        stamp_ns: Stamp of the measurement [ns].
        node_name: Name of the node.
    """
    return event_to_msg(event, stamp_ns, node_name, DiagnosticArray(), DiagnosticStatus, KeyValue)


def load_change_from_msg(msg: DiagnosticArray) -> PayloadEvent:
    """Inverse of `messages.event_to_array` for a `PayloadEvent`.

    Raises:
        MeasurementError: If there is not one status with a kind.
    """
    reports = [health_from_msg(status)[1] for status in msg.status]
    if len(reports) != 1 or KIND not in reports[0].values:
        raise MeasurementError(f"{len(reports)} statuses, expected one with the value '{KIND}'")
    (report,) = reports
    values = {key: value for key, value in report.values.items() if key != KIND}
    kind, stamp_ns = report.values[KIND], stamp_from_msg(msg.header.stamp)
    return PayloadEvent(stamp_ns, kind, report.message, values)


def hold_to_msg(held: bool) -> Bool:
    """Convert the request to stand still to std_msgs/Bool."""
    return Bool(data=held)


def hold_from_msg(msg: Bool) -> bool:
    """Inverse of `hold_to_msg`."""
    return bool(msg.data)
