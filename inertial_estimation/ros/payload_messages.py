"""Conversions of what the trunk's identification tells and asks, in pairs."""

from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import Bool

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.payload.payload_events import PayloadEvent
from inertial_estimation.ros.messages import health_to_msg, set_stamp, stamp_from_msg
from inertial_estimation.signals import Health, HealthLevel

__all__ = ["hold_from_msg", "hold_to_msg", "load_change_from_msg", "load_change_to_msg"]

KIND = "kind"
LOAD = "load"


def load_change_to_msg(event: PayloadEvent, node_name: str) -> DiagnosticArray:
    """Convert an event to diagnostic_msgs/DiagnosticArray with one status.

    Args:
        event: What happened.
        node_name: Name of the node.

    Returns:
        The message, with the stamp of the measurement; the first value is the event's kind.
    """
    msg = DiagnosticArray()
    set_stamp(msg.header.stamp, event.stamp_ns)
    status = Health(LOAD, event.level, event.message, {KIND: event.kind, **event.values})
    msg.status = [health_to_msg(status, node_name)]
    return msg


def load_change_from_msg(msg: DiagnosticArray) -> PayloadEvent:
    """Inverse of `load_change_to_msg`.

    Raises:
        MeasurementError: If there is not one status with a kind.
    """
    statuses = [{item.key: item.value for item in status.values} for status in msg.status]
    if len(statuses) != 1 or KIND not in statuses[0]:
        raise MeasurementError(f"{len(statuses)} statuses, expected one with the value '{KIND}'")
    (status,), (values,) = msg.status, statuses
    level = HealthLevel(status.level[0] if isinstance(status.level, bytes) else int(status.level))
    return PayloadEvent(stamp_from_msg(msg.header.stamp), values.pop(KIND), level, status.message, values)


def hold_to_msg(held: bool) -> Bool:
    """Convert whether the robot should stand still to std_msgs/Bool."""
    return Bool(data=held)


def hold_from_msg(msg: Bool) -> bool:
    """Inverse of `hold_to_msg`."""
    return bool(msg.data)
