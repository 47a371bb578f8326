"""What a step of the inertial filter needs of the inputs."""

import numpy as np

from inertial_estimation.estimators.inertial.doubt_hold import DoubtHold
from inertial_estimation.estimators.inertial.state_windows import StateWindows
from inertial_estimation.estimators.inputs.aligned_sample import AlignedSample
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.measured_state import MeasuredState


class StepReader:
    """Reads the measured state of a step, and whether it may be learned from.

    Both are of the moment at which the step is ready: later readings neither change them nor are needed.
    """

    def __init__(self, windows: StateWindows, joints: JointMap, aligner: SignalAligner) -> None:
        """Take where they are read from.

        Args:
            windows: Reduces the streams over the window around a step.
            joints: The joints of the model.
            aligner: The aligned inputs.
        """
        self._windows, self._joints = windows, joints
        self._doubt = DoubtHold(2 * aligner.limits.half_window_ns)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")  # judged by the result of the step
    def read(self, sample: AlignedSample) -> tuple[MeasuredState, bool] | None:
        """Return the measured state, and whether it may be learned from; None where an input is missing.

        Args:
            sample: The step.
        """
        state = self._windows.state_at(sample)
        if state is None:
            return None
        return state, not self._doubt.holds(sample.time_ns, strays=bool(self._joints.remark))
