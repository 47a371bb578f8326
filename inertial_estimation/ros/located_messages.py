"""Messages of what the locator of the inertial filter has found."""

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray

from inertial_estimation.estimators.inertial.located_events import LocatedEvent
from inertial_estimation.ros.messages import event_to_msg
from inertial_estimation.signals import Health, InertialEstimate, WrenchSample

__all__ = ["external_wrench_of", "located_event_to_msg"]


def located_event_to_msg(event: LocatedEvent, node_name: str) -> DiagnosticArray:
    """Convert an event to diagnostic_msgs/DiagnosticArray with one status, its kind the first value.

    Args:
        event: The event.
        node_name: Name of the node.
    """
    status = Health("load location", event.level, event.message, event.values)
    return event_to_msg(status, event.stamp_ns, node_name)


def external_wrench_of(estimate: InertialEstimate) -> tuple[WrenchSample, str] | None:
    """Return the wrench of a push about the origin of its link, in the link's axes, and the link.

    Args:
        estimate: Estimate of the inertial filter.

    Returns:
        None where there is no push.
    """
    located = estimate.located
    if located is None or located.force_L is None or located.torque_L is None:
        return None
    wrench = np.concatenate((located.force_L, located.torque_L))
    return WrenchSample(estimate.stamp_ns, wrench), located.links[0]
