"""Values of the messages of a recording: the core's signals, and two that only messages carry."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from inertial_estimation.signals import (
    Array,
    BaseState,
    ImuSample,
    JointReading,
    LinkInertia,
    OrientationSample,
    WrenchSample,
    frozen_array,
)


@dataclass(frozen=True, slots=True, eq=False)
class PoseSample(OrientationSample):
    """An orientation with the position of the same message.

    Attributes:
        p_WB: Position of the base in the world [m], shape (3,).
    """

    p_WB: Array = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        OrientationSample.__post_init__(self)
        object.__setattr__(self, "p_WB", frozen_array("p_WB", self.p_WB, (3,)))


class StampedInertia(NamedTuple):
    """The inertia of a link at one time.

    Attributes:
        stamp_ns: Time of the measurement it follows from [ns].
        inertia: The inertia.
    """

    stamp_ns: int
    inertia: LinkInertia


Sample: TypeAlias = ImuSample | JointReading | WrenchSample | OrientationSample | BaseState | StampedInertia
