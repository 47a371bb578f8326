"""The compiled parts of a step of one estimator, called with the memory that they share."""

from typing import Any

import numpy as np

from inertial_estimation.compilation import cells, compiling, warm_up, zeros
from inertial_estimation.estimators.tilt.contact_velocity import ContactVelocity
from inertial_estimation.estimators.tilt.estimate_numbers import CONTACTS, DEFECTS
from inertial_estimation.estimators.tilt.estimator_memory import DEFECT, STEP
from inertial_estimation.estimators.tilt.rest_window import RestWindow
from inertial_estimation.estimators.tilt.step_begin import begin_step, guard_step, weigh_step
from inertial_estimation.estimators.tilt.step_end import finish_step
from inertial_estimation.estimators.tilt.step_judgement import judge_step
from inertial_estimation.estimators.tilt.tilt_observer import TiltObserver
from inertial_estimation.estimators.tilt.whole_steps import WHOLE_STEPS
from inertial_estimation.models.contact_kinematics import ContactKinematics
from inertial_estimation.signals import Array
from inertial_estimation.spatial.vectors import ZERO, Vector, vector_of


class StepCalls:
    """Calls the parts of a step (`step_begin`) and the usual step (`whole_steps`).

    Attributes:
        kinematics: Kinematics of the contacts.
        contacts: State of the contacts.
        numbers: Numbers of the last estimate (`estimate_numbers`).
        whole_step: The usual step in one call; None for an observer in Python.
    """

    def __init__(
        self,
        memory: Array,
        kinematics: ContactKinematics,
        contacts: ContactVelocity,
        observer: TiltObserver[Any],
        rest: RestWindow,
    ) -> None:
        """Collect what the functions take.

        Args:
            memory: Of the estimator, whose rows the other arguments use.
            kinematics: Kinematics of the contacts.
            contacts: State of the contacts.
            observer: The tilt observer.
            rest: Window in which rest is detected.
        """
        self.kinematics, self.contacts = kinematics, contacts
        self.whole_step = WHOLE_STEPS.get(type(observer))
        self._memory, self._rest = memory, rest
        self._step = cells(memory[STEP])
        self._count, self._listed = CONTACTS + 2 * len(contacts.wrenches), not compiling()
        self.numbers = np.zeros(self._count)
        warm_up()

    def vector(self, first: int) -> Vector:
        """Return three consecutive numbers of the step (`estimator_memory`)."""
        return vector_of(self._step, first)

    @property
    def defect(self) -> str:
        """What is not finite or physically inconsistent in the last estimate; empty if nothing is."""
        return DEFECTS[int(self._step[DEFECT])]

    def whole(self, h: float, imu: Array, joints: tuple[Array, Array], wrenches: Array) -> int:
        """Make the usual step; return where it has ended and what was found (`whole_steps`).

        Args:
            h: Time since the last step [s].
            imu: Specific force then rate, shape (6,).
            joints: Positions and velocities, shape (n_joints,) each.
            wrenches: A row for each contact, in its wrench frame, as `compilation.numbers` of shape (n, 6).
        """
        assert self.whole_step is not None
        kinematics = self.kinematics.forward(joints[0], joints[1])
        self.contacts.wrenches, window, memory = wrenches, self._rest.readings, self._memory
        if self._listed:
            out: Any = [0.0] * self._count
            found = self.whole_step(h, imu.tolist(), kinematics, wrenches, window, memory, out)
            self.numbers = np.array(out)
            return found
        self.numbers = out = np.empty(self._count)
        return self.whole_step(h, imu, kinematics, wrenches, window, memory, out)

    def begin(self, h: float, imu: Array, joints: tuple[Array, Array] | None) -> None:
        """Take the readings of a step (`begin_step`); joints are None where they are missing."""
        if joints is not None:
            self.kinematics.forward(*joints)
        readings = imu.tolist() if self._listed else imu
        begin_step(h, readings, joints is not None, self.kinematics.kinematics, self._memory)

    def weigh(self, h: float, vertical: Vector, expected: Vector | None, wrenches: Array) -> bool:
        """Compute the contact velocity (`weigh_step`); without an expected one the forces alone weigh."""
        self.contacts.wrenches, judged = wrenches, expected is not None
        table = self.kinematics.kinematics[2]
        return weigh_step(h, vertical, judged, expected or ZERO, table, wrenches, self._memory)

    def guard(self, h: float, *, aided: bool) -> None:
        """Let the observer's velocity begin anew where the contacts say so (`guard_step`)."""
        guard_step(h, aided, self._memory)

    def judge(self, h: float, *, aided: bool) -> int:
        """Compare the readings after the observer's step; return what was found (`judge_step`)."""
        return judge_step(h, aided, self._memory)

    def finish(self, h: float, *, known: bool, fresh: bool, tracking: bool) -> int:
        """Finish a step; return what was found (`finish_step`)."""
        out = zeros(self._count)
        table, window = self.kinematics.kinematics[2], self._rest.readings
        found = finish_step(h, known, fresh, tracking, table, window, self._memory, out)
        self.numbers = np.asarray(out)
        return found

    def enlarge_window(self) -> None:
        """Make room for readings in the window in which rest is detected."""
        self._rest.enlarge()
