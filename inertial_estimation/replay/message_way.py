"""The way of the messages of one topic into what reads them."""

from collections.abc import Callable
from typing import NamedTuple

from inertial_estimation.estimators.inputs.joint_entry import JointEntry
from inertial_estimation.estimators.inputs.sensor_entry import SensorEntry


class MessageWay(NamedTuple):
    """The way of the messages of one topic into what reads them.

    Attributes:
        push: Takes the value of a message.
        entry: Takes usual messages serialised; None: none is taken so.
    """

    push: Callable[..., None]
    entry: JointEntry | SensorEntry | None = None
