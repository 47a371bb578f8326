"""Values of the messages of a recording: the core's signals, and two that only messages carry."""

from typing import TypeAlias

from inertial_estimation.signals import (
    BaseState,
    ImuSample,
    JointReading,
    OrientationSample,
    WrenchSample,
)
from inertial_estimation.signals import PoseSample as PoseSample
from inertial_estimation.signals import StampedInertia as StampedInertia

Sample: TypeAlias = ImuSample | JointReading | WrenchSample | OrientationSample | BaseState | StampedInertia
