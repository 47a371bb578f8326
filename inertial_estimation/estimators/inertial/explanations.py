"""Which single cause explains an innovation: a load on one body, or a fault of one input.

An innovation of the last good state is whitened by its covariance. A cause spans a few directions: a load
those of one body's regressor, an effort sensor one row, a wrench sensor the rows of its Jacobian, the base's
acceleration those of the mass matrix. What is left across these directions is the normalised innovation
under that cause, comparable with the level before. A real load shows in base rows and joint rows at once,
which no single sensor can cause; where the rows do not suffice to tell, neither cause is excluded.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtrs

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial.inertial_filter import Innovation
from inertial_estimation.estimators.inertial.linearisation import cholesky
from inertial_estimation.estimators.inputs.rows import wrench_stream
from inertial_estimation.models.dynamics_measurement import InputPaths, LinearEquation
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

__all__ = ["Causes", "Explanation", "InputNames"]

FEWEST_ROWS_LEFT = 2  # rows across a cause's directions, below which they tell nothing about it
MASS_AND_MOMENT = 4  # parameters of a load
ROWS_FOR_MOMENTS = 20  # from here a load has ten directions; with fewer rows mass and first moment
SHARE_NAMED = 0.2  # of an innovation that a fault may leave to be named as its cause
SHARE_LEFT = 0.05  # of an innovation that a fault may leave: a large one is not exactly along a direction
SHARE_LEFT_BY_LOAD = 0.01  # the same of a load, in which the equation is linear


@dataclass(frozen=True)
class InputNames:
    """Names of the inputs in messages.

    Attributes:
        joints: Joints in the robot's order.
        base: Velocities of the base, 6 or 0.
        contacts: Contacts whose wrenches are measured.
        acceleration: Source of the base's acceleration; empty for a fixed base.
    """

    joints: tuple[str, ...]
    base: int
    contacts: tuple[str, ...]
    acceleration: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The best single cause of each kind.

    Attributes:
        total: NIS of the innovation.
        load: NIS that a load on one body leaves; infinite where none can be tested.
        fault: NIS that a fault of one input leaves; zero where the rows cannot exclude it.
        input: Name of that input.
    """

    total: float
    load: float
    fault: float
    input: str

    def is_a_load(self, limit: float) -> bool:
        """Return whether a load explains the innovation, and no fault of a single input does.

        Args:
            limit: Largest NIS of an innovation that is explained.
        """
        explained = self.load <= max(limit, SHARE_LEFT_BY_LOAD * self.total)
        return explained and self.fault > max(limit, SHARE_LEFT * self.total)

    def is_a_fault(self, limit: float) -> bool:
        """Return whether a fault of one input, which the rows could exclude, explains it better than a load.

        Args:
            limit: Largest NIS of an innovation that is explained.
        """
        return 0.0 < self.fault <= max(limit, SHARE_LEFT * self.total) and self.fault < self.load


class Causes:
    """Tests the causes of an innovation."""

    def __init__(self, names: InputNames, bodies: int) -> None:
        """Prepare the names.

        Args:
            names: Names of the inputs.
            bodies: Number of estimated bodies.
        """
        self._names = names
        self._bodies = bodies

    def can_tell_loads(self, rows: int) -> bool:
        """Return whether loads on all bodies together cannot explain every innovation of so many rows."""
        return MASS_AND_MOMENT * self._bodies <= rows

    def explain(self, innovation: Innovation, equation: LinearEquation) -> Explanation:
        """Return the best load and the best fault.

        Args:
            innovation: Of the last good state.
            equation: The measurement.
        """
        try:
            factor = cholesky(innovation.S.copy())
        except MeasurementError:
            return Explanation(np.inf, np.inf, 0.0, "")
        white = _White(factor, innovation.y)
        loads = [
            white.left_by(equation.regressor[:, 10 * i : 10 * i + self._load_directions(len(innovation.y))])
            for i in range(self._bodies)
        ]
        load = min(loads, default=np.inf)
        faults = self._faults(white, equation.paths) if equation.paths is not None else {}
        if not faults:
            return Explanation(white.total, load, 0.0, "")
        name = min(faults, key=lambda key: faults[key])
        return Explanation(white.total, load, faults[name], name)

    def name(self, innovation: Innovation, equation: LinearEquation) -> str:
        """Return the input that an innovation points to: the best fault, or those of the most deviating row.

        Args:
            innovation: Of the last good state.
            equation: The measurement.
        """
        best = self.explain(innovation, equation)
        if best.fault <= SHARE_NAMED * innovation.nis and np.isfinite(innovation.nis) and best.input:
            return best.input
        return self.of_rows(innovation.y, innovation.S.diagonal(), equation.paths)

    def of_rows(self, innovation: Array, variance: Array, paths: InputPaths | None) -> str:
        """Return the inputs that determine the row of the largest normalised innovation most directly.

        Args:
            innovation: Measured minus predicted, shape (m,).
            variance: Its variances, shape (m,).
            paths: How errors of the inputs reach the rows; None where it is not known.
        """
        names = self._names
        if paths is None or paths.projection is not None:
            return "joint_states"
        row = int(np.argmax(innovation**2 / np.maximum(variance, np.finfo(float).tiny)))
        position = int(paths.picked[row]) - names.base
        if position >= 0:
            return f"the effort or motion of '{names.joints[position]}' in joint_states"
        wrenches = [wrench_stream(contact) for contact in names.contacts]
        return " or ".join([names.acceleration, *wrenches])

    @staticmethod
    def _load_directions(rows: int) -> int:
        return 10 if rows >= ROWS_FOR_MOMENTS else MASS_AND_MOMENT

    def _faults(self, white: "_White", paths: InputPaths) -> dict[str, float]:
        names = self._names

        def rows(directions: Array) -> Array:
            return directions if paths.projection is None else paths.projection.T @ directions

        left: dict[str, float] = {}
        if names.acceleration:
            left[names.acceleration] = white.left_by(rows(paths.inertia[:, : names.base]))
        for i, contact in enumerate(names.contacts):
            left[wrench_stream(contact)] = white.left_by(rows(paths.contacts[6 * i : 6 * i + 6].T))
        positions = paths.picked - names.base
        effort = rows(np.eye(len(positions))[:, positions >= 0])
        motion = rows(paths.inertia[:, names.base :])
        single = zip(positions[positions >= 0].tolist(), white.left_by_each(effort), strict=True)
        left |= {f"the effort of '{names.joints[j]}' in joint_states": value for j, value in single}
        moving = zip(names.joints, white.left_by_each(motion), strict=True)
        left |= {f"the motion of '{joint}' in joint_states": value for joint, value in moving}
        return left


class _White:
    """An innovation whitened by the factor of its covariance."""

    def __init__(self, factor: Array, y: Array) -> None:
        self._factor = factor
        self._y = self._whitened(y[:, None])[:, 0]
        self.total = float(self._y @ self._y)

    def left_by(self, directions: Array) -> float:
        """Return the NIS across some directions, scaled to all rows; zero where too few rows are left."""
        free = len(self._y) - directions.shape[1]
        if free < FEWEST_ROWS_LEFT:
            return 0.0
        basis = self._whitened(directions)
        fit = linear_algebra.lstsq(basis, self._y)
        across = self._y - basis @ fit
        nis: float = float(across @ across) * len(self._y) / free
        return nis

    def left_by_each(self, directions: Array) -> Array:
        """Return the NIS across each of some directions alone, scaled to all rows, shape (n,)."""
        basis = self._whitened(directions)
        along = (basis.T @ self._y) ** 2 / np.maximum((basis**2).sum(axis=0), np.finfo(float).tiny)
        rows = len(self._y)
        left: Array = (self.total - along) * rows / max(rows - 1, 1)
        return np.maximum(left, 0.0)

    def _whitened(self, columns: Array) -> Array:
        white, _info = dtrtrs(self._factor, columns, lower=1)
        result: Array = white
        return result
