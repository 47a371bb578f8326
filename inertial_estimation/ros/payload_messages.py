"""Message conversions of the events and requests of the trunk's identification."""

from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import Bool

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.payload.payload_events import KIND, PayloadEvent
from inertial_estimation.recordings.estimate_messages import health_from_msg
from inertial_estimation.recordings.message_conversion import stamp_from_msg


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
    return PayloadEvent(stamp_ns, kind, report.level, report.message, values)


def hold_to_msg(held: bool) -> Bool:
    """Convert the request to stand still to std_msgs/Bool."""
    return Bool(data=held)


def hold_from_msg(msg: Bool) -> bool:
    """Inverse of `hold_to_msg`."""
    return bool(msg.data)
