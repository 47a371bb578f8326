"""Single causes of large innovations, as whitened columns: loads, pushes, faults of an input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtrs

from inertial_estimation.estimators.inertial.filter_values import Innovation
from inertial_estimation.estimators.inertial.input_causes import (
    InputKind,
    InputNames,
    input_names,
    input_sizes,
    single_columns,
    spatial_columns,
)
from inertial_estimation.estimators.inertial.linearisation import cholesky
from inertial_estimation.estimators.inertial.load_prior import LoadPrior
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.models.candidate_columns import CandidateColumns
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement, LinearEquation
from inertial_estimation.models.imu import STANDARD_GRAVITY
from inertial_estimation.signals import Array

WRENCH_FAULT = 2.0  # expected error of a wrench sensor, in forces of a push
ACCELERATION_FAULT = (1.0, 2.0)  # expected error of the base's acceleration [m/s^2, rad/s^2]
MOTION_FAULT = 5.0  # expected error of a joint's acceleration [rad/s^2]


@dataclass(frozen=True, slots=True, eq=False)
class WhiteCauses:
    """A residual and the columns of its causes, whitened, amplitudes in units of their expected size.

    Attributes:
        residual: Shape (m,).
        loads: Of a load on each body, shape (n, m, 4).
        weights: Of a push on each body that presses down as a load at rest does, shape (n, m, 4).
        spatial: Of a wrench on each body, then of each input with six components, shape (n + k, m, 6).
        single: Of each input with one component, shape (j, m, 1).
        inputs: Names of the inputs in both, those with six components first.
        R_BJ: Orientation of the bodies' joint frames in the base, shape (n, 3, 3).
        f_B: Proper acceleration of the base, which at rest is gravity's, upwards [m/s^2], shape (3,).
    """

    residual: Array
    loads: Array
    weights: Array
    spatial: Array
    single: Array
    inputs: tuple[str, ...]
    R_BJ: Array
    f_B: Array


class CauseModel:
    """Builds the causes of one innovation.

    Attributes:
        candidates: The bodies on which loads and pushes are looked for.
        classes: Class of each body, see `load_classes`.
        load_size: Expected size of mass [kg] and first moment [kg m], shape (4,).
        wrench_size: Expected size of force [N] and moment [Nm], shape (6,).
        spread: Covariance of the place of a load about the centre of mass of its body, axes of the joint, in
            squared units of `lever`, shape (n, 3, 3).
        lever: Unit of the distance of loads and pushes from the centre of mass [m].
        measured_wrenches: Number of contacts whose wrenches are inputs, the first ones with six components.
    """

    def __init__(
        self,
        measurement: DynamicsMeasurement,
        candidates: CandidateColumns,
        classes: Sequence[int],
        names: InputNames,
        config: LocatorConfig,
        total_mass: float,
    ) -> None:
        """Prepare the expected sizes.

        Args:
            measurement: The measurement equation.
            candidates: The bodies.
            classes: Class of each body.
            names: Names of the inputs.
            config: Expected load and reach.
            total_mass: Mass of the robot [kg].
        """
        self.candidates, self.classes = candidates, np.array(classes, dtype=np.int64)
        self._measurement, self._names = measurement, names
        self.measured_wrenches = len(names.contacts)
        reach = config.reach
        gyration = float(np.trace(candidates.spreads, axis1=1, axis2=2).max(initial=0.0))
        self.lever = lever = float(np.sqrt(gyration + reach**2))
        self.spread: Array = (candidates.spreads + reach**2 * np.eye(3)) / lever**2
        mass = config.load * total_mass
        force = mass * STANDARD_GRAVITY
        self.load_size: Array = mass * np.array([1.0, lever, lever, lever])
        self.wrench_size: Array = force * np.array([1.0, 1.0, 1.0, lever, lever, lever])
        picked = measurement.picked_rows
        self._inputs = input_names(names, picked)
        self._spatial_size, self._single_size = input_sizes(
            names,
            picked,
            {
                InputKind.WRENCH: WRENCH_FAULT * self.wrench_size,
                InputKind.ACCELERATION: np.repeat(ACCELERATION_FAULT, 3),
                InputKind.EFFORT: np.array([force * lever]),
                InputKind.MOTION: np.array([MOTION_FAULT]),
            },
        )

    def load_prior(self, carried: Mapping[str, float]) -> LoadPrior:
        """Return what is known of loads before the data.

        Args:
            carried: Loads that bodies carry at present and can lose [kg], by the link of the candidate.
        """
        loads = np.array([carried.get(link, 0.0) for link in self.candidates.links])
        return LoadPrior(self.candidates.masses, loads, self.spread, float(self.load_size[0]))

    def causes(
        self, innovation: Innovation, equation: LinearEquation, *, at_rest: bool = False
    ) -> WhiteCauses | None:
        """Return the whitened causes; None where the state of the equation is not known.

        At rest a load and a push that presses down have the same columns. As measured they would differ by
        the noise of the accelerations, which is in the innovations as well and would tell one from the other.

        Args:
            innovation: Of the state to which loads are compared.
            equation: The measurement.
            at_rest: Whether the joints are at rest.

        Raises:
            MeasurementError: If the covariance of the innovation is not positive definite.
        """
        if equation.state is None or equation.paths is None:
            return None
        bodies = self._measurement.causes(self.candidates, equation.state, equation.paths.projection)
        spatial = spatial_columns(self._names, equation.paths) * self._spatial_size
        wrenches = np.concatenate((bodies.wrenches * self.wrench_size, spatial))
        singles = single_columns(self._names, equation.paths) * self._single_size
        factor = cholesky(innovation.S.copy())
        weights = bodies.weights * self.load_size
        loads = weights if at_rest else bodies.loads * self.load_size
        blocks = (loads, weights, wrenches, singles)
        y, white_loads, white_weights, white_wrenches, white_singles = _whitened(
            factor, (innovation.y[None, :, None], *blocks)
        )
        whitened = (y[0, :, 0], white_loads, white_weights, white_wrenches, white_singles)
        f_B = self._measurement.proper_acceleration(equation.state)
        return WhiteCauses(*whitened, self._inputs, bodies.R_BJ, f_B)


def _whitened(factor: Array, blocks: Sequence[Array]) -> list[Array]:
    """Return L^-1 times each block (n, m, d), in one triangular solution."""
    m = len(factor)
    flat = np.hstack([block.transpose(1, 0, 2).reshape(m, -1) for block in blocks])
    white, _info = dtrtrs(factor, flat, lower=1)
    ends = np.cumsum([block.shape[0] * block.shape[2] for block in blocks])[:-1]
    parts = np.split(white, ends, axis=1)
    return [
        part.reshape(m, block.shape[0], block.shape[2]).transpose(1, 0, 2)
        for part, block in zip(parts, blocks, strict=True)
    ]
