"""The table of causes that may explain innovations, and their columns in one block of equations.

A `CauseRow` is a kind of cause: the columns by which its amplitudes enter the equations, how often it begins,
and whether its amplitudes are constant or independent in every block.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from inertial_estimation.models.bodies import LOAD_SHARE, REACH
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, LinearEquation
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array
from inertial_estimation.spatial import linear_algebra

WRENCH_FAULT = 2.0  # expected error of a wrench sensor, in forces of a push
ACCELERATION_FAULT = (1.0, 2.0)  # expected error of the base's acceleration [m/s^2, rad/s^2]
MOTION_FAULT = 5.0  # expected error of a joint's acceleration [rad/s^2]


class CauseKind(Enum):
    """Kind of a hypothesis."""

    NOMINAL = "nominal"
    NOISE = "noise"
    LOAD = "load"
    PRESS = "press"
    PUSH = "push"
    INPUT = "input"


@dataclass(frozen=True)
class CauseRow:
    """One row of the table.

    Attributes:
        kind: Kind of the cause.
        columns: Name of its columns in `CauseColumns`.
        period_s: Mean time between two onsets, for one body or input [s].
        constant: Whether the amplitudes are constant, or independent in every block.
        after_s: Length of an event from which it is considered [s]: independent amplitudes explain nearly
            anything.
    """

    kind: CauseKind
    columns: str
    period_s: float
    constant: bool
    after_s: float = 0.0


TABLE = (
    CauseRow(CauseKind.LOAD, "loads", 600.0, constant=True),
    CauseRow(CauseKind.PRESS, "weights", 6000.0, constant=True),
    CauseRow(CauseKind.PUSH, "wrenches", 600.0, constant=True),
    CauseRow(CauseKind.PUSH, "wrenches", 600.0, constant=False, after_s=0.5),
    CauseRow(CauseKind.INPUT, "spatial_inputs", 6000.0, constant=False),
    CauseRow(CauseKind.INPUT, "single_inputs", 6000.0, constant=False),
)
NOISE_FACTORS = (2.0, 4.0, 8.0)  # k of a standard deviation, prior probability k^-FREEDOM


@dataclass(frozen=True)
class InputNames:
    """Names of the inputs in messages.

    Attributes:
        joints: Joints in the robot's order.
        base: Number of velocities of the base, 6 or 0.
        contacts: Contacts whose wrenches are measured, with their indices among the robot's contacts.
        acceleration: Input that gives the base's acceleration; empty for a fixed base.
    """

    joints: tuple[str, ...]
    base: int
    contacts: Mapping[str, int]
    acceleration: str


@dataclass(frozen=True, eq=False)
class CauseColumns:
    """Columns of all causes in one block, amplitudes in units of their expected size.

    Attributes:
        loads: Columns of a load on each body, shape (n, m, 4).
        weights: Columns of a steady press on each body, shape (n, m, 4).
        wrenches: Columns of a wrench on each body, shape (n, m, 6).
        spatial_inputs: Columns of an error of each wrench and of the base's acceleration, shape (k, m, 6).
        single_inputs: Columns of an error of each effort and of each joint's motion, shape (j, m, 1).
        R_BJ: Orientation of the bodies' joint frames in the base, shape (n, 3, 3).
        upwards: Proper acceleration of the base [m/s^2], shape (3,).
    """

    loads: Array
    weights: Array
    wrenches: Array
    spatial_inputs: Array
    single_inputs: Array
    R_BJ: Array
    upwards: Array

    @cached_property
    def places(self) -> dict[str, tuple[slice, int, int]]:
        """By name: the columns in `stacked`, the number of causes, and the number of columns of each."""
        places, first = dict[str, tuple[slice, int, int]](), 0
        for name in dict.fromkeys(row.columns for row in TABLE):
            n, _m, d = getattr(self, name).shape
            places[name] = slice(first, first + n * d), n, d
            first += n * d
        return places

    @cached_property
    def stacked(self) -> Array:
        """All columns, one after the other, shape (k, m)."""
        parts = [getattr(self, name).swapaxes(1, 2) for name in self.places]
        return np.concatenate([part.reshape(-1, part.shape[2]) for part in parts])


class CauseTable:
    """Builds the columns of the causes of a robot.

    Attributes:
        candidates: The bodies on which loads and pushes are considered.
        load_size: Expected size of mass [kg] and first moment [kg m] of a load, shape (4,).
        wrench_size: Expected size of force [N] and moment [Nm] of a push, shape (6,).
        place_covariance: Covariance of the position of a load about the centre of mass of each body, axes of
            the joint, in squared units of `lever`, shape (n, 3, 3).
        inverse_place_covariance, log_det_inverse_place: Its inverse, shape (n, 3, 3), and the log determinant
            of the inverse, shape (n,).
        lever: Unit of the distance of a load from the centre of mass [m].
        inputs: Names of inputs with six components, and of those with one.
    """

    def __init__(
        self,
        measurement: DynamicsMeasurement,
        candidates: CandidateColumns,
        names: InputNames,
        total_mass: float,
    ) -> None:
        """Prepare the expected sizes.

        Args:
            measurement: The measurement equation.
            candidates: The bodies.
            names: Names of the inputs.
            total_mass: Mass of the robot [kg].
        """
        self.candidates, self._measurement, self._names = candidates, measurement, names
        gyration = float(np.trace(candidates.spreads, axis1=1, axis2=2).max(initial=0.0))
        self.lever = lever = float(np.sqrt(gyration + REACH**2))
        self.place_covariance: Array = (candidates.spreads + REACH**2 * np.eye(3)) / lever**2
        self.inverse_place_covariance: Array = linear_algebra.inv(self.place_covariance)
        self.log_det_inverse_place: Array = np.linalg.slogdet(self.inverse_place_covariance)[1]
        mass = LOAD_SHARE * total_mass
        force = mass * STANDARD_GRAVITY
        self.load_size: Array = mass * np.array([1.0, lever, lever, lever])
        self.wrench_size: Array = force * np.array([1.0, 1.0, 1.0, lever, lever, lever])
        self._acceleration_size = np.repeat(ACCELERATION_FAULT, 3)
        self._effort_size = force * lever
        joints = [names.joints[p] for p in (measurement.picked_rows - names.base).tolist() if p >= 0]
        efforts = [f"the effort of '{joint}' in joint_states" for joint in joints]
        motions = [f"the motion of '{joint}' in joint_states" for joint in names.joints]
        wrenches = [f"{contact}/wrench" for contact in names.contacts]
        self.inputs = {
            "spatial_inputs": tuple(filter(None, (*wrenches, names.acceleration))),
            "single_inputs": (*efforts, *motions),
        }

    def columns(self, equation: LinearEquation, *, at_rest: bool) -> CauseColumns:
        """Return the columns of the causes in an equation.

        At rest a load and a press have the same columns: computed from measured accelerations they would
        differ by noise, which is in the innovations as well and would seem to distinguish them.

        Args:
            equation: The measurement, with its state and the paths of its inputs.
            at_rest: Whether the joints are at rest.
        """
        bodies = self._measurement.causes(self.candidates, equation.state, equation.paths.projection)
        weights = bodies.weights * self.load_size
        return CauseColumns(
            weights if at_rest else bodies.loads * self.load_size,
            weights,
            bodies.wrenches * self.wrench_size,
            *self._of_inputs(equation),
            bodies.R_BJ,
            self._measurement.proper_acceleration(equation.state),
        )

    def _of_inputs(self, equation: LinearEquation) -> tuple[Array, Array]:
        paths, names = equation.paths, self._names
        contacts = list(names.contacts.values())
        wrenches = paths.contacts.reshape(-1, 6, paths.contacts.shape[1])[contacts].transpose(0, 2, 1)
        spatial = [wrenches * (WRENCH_FAULT * self.wrench_size)]
        if names.acceleration:
            spatial.append(paths.inertia[None, :, : names.base] * self._acceleration_size)
        efforts = np.eye(len(paths.picked))[paths.picked >= names.base] * self._effort_size
        motions = paths.inertia[:, names.base :].T * MOTION_FAULT
        parts = np.concatenate(spatial), np.concatenate((efforts, motions))[:, :, None]
        if paths.projection is None:
            return parts
        of_six, of_one = (np.matmul(paths.projection.T, part) for part in parts)
        return of_six, of_one
