"""Messages of what the locator of the inertial filter has found."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from inertial_estimation.estimators.inertial.located_events import LocatedEvent
from inertial_estimation.recordings.estimate_messages import event_to_msg

__all__ = ["located_event_to_msg"]


def located_event_to_msg(event: LocatedEvent, node_name: str) -> DiagnosticArray:
    """Convert an event to diagnostic_msgs/DiagnosticArray with one status, its kind the first value.

    Args:
        event: The event.
        node_name: Name of the node.
    """
    return event_to_msg(
        event.health, event.stamp_ns, node_name, DiagnosticArray(), DiagnosticStatus, KeyValue
    )
