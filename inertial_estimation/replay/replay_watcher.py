"""What looks on while a recording is replayed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from inertial_estimation.payload.estimate import PayloadEstimate
from inertial_estimation.signals import BaseEstimate, InertialEstimate, JointReading


class ReplayWatcher(ABC):
    """Sees the joint states of a recording and the estimates as they are made, without affecting them."""

    @abstractmethod
    def push_joints(self, reading: JointReading) -> None:
        """See a joint state, before the estimates that follow from it."""

    @abstractmethod
    def see(
        self,
        base: Sequence[BaseEstimate],
        inertial: Sequence[InertialEstimate],
        payload: Sequence[PayloadEstimate],
    ) -> None:
        """See the estimates of one tick, in order of time; any of them may be empty."""
