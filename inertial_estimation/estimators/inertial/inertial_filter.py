"""Base of the inertial filters: prediction with decay to nominal, gate, iterated Joseph update.

State x: coordinates of every body, then friction parameters, then errors of the sensors. The measurement is
linear in the parameters phi = [pi_1, ..., pi_n, friction, errors]; the filters differ in phi(x):

    z = A phi(x) + noise,   H = A dphi/dx

Process: each coordinate decays to its nominal value with time constant T, x' = -(x - x_nom)/T + w, and the
noise w makes the prior covariance stationary. Without information P therefore stays at the prior and never
grows, and x converges to nominal; for T to infinity the parameters are constant.

Foster's process, a free random walk, is available for comparison: x stays, P grows by Q a second. There is no
stationary prior then from which the information of the data could be separated, so only new measurements are
linearised at the present state.

Measurements averaged over a window longer than the step between updates share their noise. The gate tests
one innovation by its own covariance S = H P H' + R; the gain uses R times the overlap, so that the shared
noise counts once per window and P does not shrink faster than the information grows.

Between linearisations the filter is the linear one in x. When the mean has moved away from the point of
linearisation, the accumulated information is relinearised at the new mean (`linearisation`).
"""

import math
from dataclasses import dataclass

import numpy as np

from inertial_estimation.compilation import warm_up
from inertial_estimation.errors import MeasurementError, NumericalError
from inertial_estimation.estimators.inertial.body_coordinates import BodyCoordinates
from inertial_estimation.estimators.inertial.filter_steps import (
    compared,
    corrected,
    decayed,
    largest_step,
    predicted,
)
from inertial_estimation.estimators.inertial.gate import InnovationGate
from inertial_estimation.estimators.inertial.linearisation import (
    BodyLinearisation,
    DataInformation,
    Posterior,
    Prior,
    inverse,
)
from inertial_estimation.estimators.inertial.prior import PriorSigma, prior_covariance
from inertial_estimation.estimators.inertial.sensor_states import StateKinds
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array, Decision
from inertial_estimation.spatial import linear_algebra

__all__ = ["FilterState", "FilterUpdate", "InertialFilter", "Innovation"]

CLOSED = 1e-6  # share of the prior variance of a body that does not take part yet
RELINEARISATION_DISTANCE = 0.01  # of the mean from the last point; logarithms, or lengths in gyration radii
LARGEST_RELINEARISATION_STEP = 0.35  # exp(2 * 0.35) = twice the mass
MOST_RELINEARISATIONS = 30  # in one update; one or two suffice unless the mass changes by a large factor


@dataclass(frozen=True, slots=True, eq=False)
class FilterUpdate:
    """Result of one update.

    Attributes:
        innovation: Measured minus predicted, before the update, shape (m,).
        nis: y' S^-1 y.
        accepted: Whether the state was corrected.
        decision: ACCEPTED, REJECTED, REOPENED, UNRESOLVABLE or DISABLED.
        iterations: Number of linearisations until the posterior is linearised at its new mean.
        variance: Of each innovation before the update, the diagonal of S, shape (m,).
        log_det: Logarithm of the determinant of S; NaN where floating point cannot factorise S.
    """

    innovation: Array
    nis: float
    accepted: bool
    decision: Decision
    iterations: int
    variance: Array
    log_det: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class FilterState:
    """All that the data have changed in a filter, to return to.

    Attributes:
        x: State, shape (n,).
        P: Its covariance, shape (n, n).
        centre: Mean of the prior, shape (n,).
        at: Linearisation of the posterior.
    """

    x: Array
    P: Array
    centre: Array
    at: BodyLinearisation

    @property
    def phi(self) -> Array:
        """Parameters about the joint frames by the linearisation, friction last, shape (n,)."""
        phi: Array = self.at.phi + self.at.dphi @ (self.x - self.at.x)
        return phi


@dataclass(frozen=True, slots=True, eq=False)
class Innovation:
    """A measurement compared with the prediction of a state.

    Attributes:
        y: Measured minus predicted, shape (m,).
        nis: y' S^-1 y; infinite where floating point cannot factorise S.
        S: Its covariance, shape (m, m).
        log_det: Logarithm of the determinant of S; NaN where floating point cannot factorise S.
    """

    y: Array
    nis: float
    S: Array
    log_det: float

    def reported(self) -> FilterUpdate:
        """Return the outcome of a measurement from which nothing is learned.

        Raises:
            MeasurementError: If the measurement is not finite.
        """
        if not math.isfinite(self.nis):
            return _unresolvable(self.y, self.S.diagonal())
        return FilterUpdate(self.y, self.nis, False, Decision.DISABLED, 0, self.S.diagonal(), self.log_det)


class InertialFilter(BodyCoordinates):
    """Estimates the inertial parameters of bodies, and friction, from linear equations.

    Attributes:
        x: State, shape (n,).
        P: Its covariance, shape (n, n).
        bodies: The bodies, in the order of the state.
        kinds: Which states are those of bodies and friction, and which errors of sensors.
        overlap: Updates per independent measurement, at least one.
    """

    def __init__(
        self,
        bodies: tuple[BodyReference, ...],
        prior: PriorSigma,
        gate: InnovationGate,
        memory: float,
        overlap: float = 1.0,
        walk: PriorSigma | None = None,
    ) -> None:
        """Start at the nominal parameters.

        Args:
            bodies: The bodies to estimate.
            prior: Standard deviations about nominal, also of the stationary distribution.
            gate: Tests measurements for outliers.
            memory: Time constant T of the decay to nominal [s].
            overlap: Updates per independent measurement, >= 1.
            walk: Standard deviations after one second of a random walk, in place of the decay; None: decay.
        """
        warm_up()
        n_friction, friction = len(prior.friction), prior.nominal_friction
        friction = np.zeros(n_friction) if friction is None else friction
        super().__init__(bodies, np.concatenate((friction, np.zeros(len(prior.sensors.sigmas)))))
        self.overlap = max(1.0, overlap)
        self.gate = gate
        self.kinds = StateKinds.of(self._n_inertial + n_friction, memory, prior.sensors)
        nominal = self.body_coordinates(self._x_nominal)
        jacobians = [self._body_map(coordinates[None])[1][0] for coordinates in nominal]
        self._P_prior = prior_covariance(prior, bodies, jacobians)
        self._Q = None if walk is None else prior_covariance(walk, bodies, jacobians)
        self._prior_factor: Array = linear_algebra.cholesky(self._P_prior)
        self._prior_information = inverse(self._P_prior)
        self.reset()

    @property
    def friction(self) -> Array:
        """Friction parameters, shape (n_friction,)."""
        friction: Array = self.x[self._n_inertial : self.kinds.inferred].copy()
        return friction

    @property
    def is_curved(self) -> bool:
        """Whether parameters depend nonlinearly on the state, and the data's information is known apart."""
        return not self.linear and self._Q is None

    @property
    def prior_factor(self) -> Array:
        """Lower Cholesky factor of the prior covariance, shape (n, n)."""
        return self._prior_factor

    def reset(self) -> None:
        """Return to the nominal parameters and the prior covariance."""
        self.x: Array = self._x_nominal.copy()
        self.P: Array = self._P_prior.copy()
        self._centre: Array = self._x_nominal.copy()
        self._at: BodyLinearisation = self._linearisation(self.x)
        self.gate.reset()

    @property
    def state(self) -> FilterState:
        """The state, to be given back to `restore`: no array of it is changed in place."""
        return FilterState(self.x, self.P, self._centre, self._at)

    def restore(self, state: FilterState) -> None:
        """Return to an earlier state."""
        self.x, self.P, self._centre, self._at = state.x, state.P, state.centre, state.at

    def adopted(self, state: FilterState) -> FilterState:
        """Return a state of a filter with the first of these bodies as one of this filter.

        The additional bodies are nominal and closed: nearly certain, until `admit_change` opens them.

        Args:
            state: Of the other filter, with the same friction.
        """
        bodies = len(state.x) - (len(self.x) - self._n_inertial)
        known = np.r_[0:bodies, self._n_inertial : len(self.x)]
        x, centre, at = (self._x_nominal.copy() for _ in range(3))
        x[known], centre[known], at[known] = state.x, state.centre, state.at.x
        P = CLOSED * self._P_prior
        P[np.ix_(known, known)] = state.P
        return FilterState(x, P, centre, self._linearisation(at))

    def body_parameters(self) -> tuple[Array, Array]:
        """Return the parameters in C of every body (n, 10), and their covariances (n, 10, 10)."""
        return self.parameters_of(self.x, self.P)

    def innovation_of(self, state: FilterState, equation: LinearEquation) -> Innovation:
        """Compare a measurement with the prediction of another state; nothing changes."""
        _H, _HP, y, S, nis, log_det = _compare(state.at, state.x, state.P, equation)
        return Innovation(y, nis, S, log_det)

    def data_of(self, state: FilterState) -> DataInformation:
        """Return what the data alone say in a state.

        Raises:
            MeasurementError: If the covariance of the state is not positive definite.
        """
        prior = Prior(state.centre, self._prior_information)
        return DataInformation(state.at, state.x, state.P, prior)

    def predict(self, equation: LinearEquation) -> Array:
        """Return the predicted value A phi(x) of an equation, shape (m,)."""
        prediction: Array = equation.regressor @ self.state.phi
        return prediction

    def propagate(self, dt: float) -> None:
        """Predict the state.

        Args:
            dt: Time since the last call [s], >= 0.
        """
        if self._Q is not None:
            self.P = self.P + dt * self._Q
            self._at = self._linearisation(self.bounded(self.x))
            return
        decay = self.kinds.decay(dt)
        state = self.x, self._centre, self.P
        self.x, self._centre, self.P = decayed(*state, self._x_nominal, self._P_prior, decay)
        self._relinearise()

    def update(
        self, equation: LinearEquation, dt: float, *, learn: bool = True, reopen: bool = True
    ) -> FilterUpdate:
        """Predict the state, then correct it with one equation.

        Args:
            equation: Measured rows.
            dt: Time since the last update [s].
            learn: False leaves state and covariance as they are and only reports the innovation.
            reopen: False rejects for as long as the gate does; the caller knows what has changed.

        Returns:
            Innovation, NIS and decision.

        Raises:
            MeasurementError: If the equation is not finite.
        """
        if not learn:
            return self.innovation_of(self.state, equation).reported()
        H, HP, innovation, S, nis, log_det = self._predict_and_compare(equation, dt)
        variance = S.diagonal()
        if not math.isfinite(nis):
            return _unresolvable(innovation, variance)
        decision = self.gate.decide(nis, dt)
        if decision is Decision.REOPENED and not reopen:
            decision = Decision.REJECTED
        if decision is Decision.REJECTED:
            return FilterUpdate(innovation, nis, False, decision, 0, variance, log_det)
        if decision is Decision.REOPENED:
            self.admit_change()
            HP = H @ self.P
            S = HP @ H.T + equation.noise
        informed = self.kinds.informed(H, HP, innovation, S, equation.noise)
        self.x, self.P, resolved = corrected(self.x, self.P, *informed, self.overlap, self.kinds.corrected)
        if not resolved:
            return _unresolvable(innovation, variance)
        return FilterUpdate(innovation, nis, True, decision, self._relinearise(), variance, log_det)

    def _predict_and_compare(
        self, equation: LinearEquation, dt: float
    ) -> tuple[Array, Array, Array, Array, float, float]:
        """Predict the state as `propagate`, and compare a measurement with it."""
        if self._Q is not None:
            self.propagate(dt)
            return _compare(self._at, self.x, self.P, equation)
        at, nominal = self._at, (self._x_nominal, self._P_prior, self.kinds.decay(dt))
        (self.x, self._centre, self.P), distance, comparison = predicted(
            (self.x, self._centre, self.P),
            nominal,
            (at.dphi, self._n_inertial, at.phi, at.x),
            (equation.regressor, equation.value, equation.noise),
        )
        if self.is_curved and not distance < RELINEARISATION_DISTANCE:
            self._relinearise()
            return _compare(self._at, self.x, self.P, equation)
        return comparison

    def _relinearise(self) -> int:
        """Relinearise the posterior near its mean by limited steps; return the number of steps."""
        if (
            not self.is_curved
            or largest_step(self.x, self._at.x, self._n_inertial) < RELINEARISATION_DISTANCE
        ):
            return 0
        try:
            posterior, steps = self._near_mean(self.data_of(self.state))
        except (MeasurementError, NumericalError):
            # The data contradict each other beyond the resolution of floating point.
            self.x = self._at.x
            self.admit_change()
            return 0
        corrected = self.kinds.corrected > 0.0  # the others are considered: they keep their means
        x: Array = np.where(corrected, self.bounded(posterior.x), self.x)
        self._at, self.x, self.P = posterior.at, x, posterior.P
        return steps

    def _near_mean(self, data: DataInformation) -> tuple[Posterior, int]:
        """Return the posterior linearised near its mean, and the number of steps taken."""
        origin, target, steps, n = self._at.x, self.x, 0, self._n_inertial
        while True:
            steps += 1
            shorter = min(1.0, LARGEST_RELINEARISATION_STEP / largest_step(target, origin, n))
            at = self._linearisation(self.bounded(origin + shorter * (target - origin)))
            posterior = data.posterior_at(at)
            if (
                steps == MOST_RELINEARISATIONS
                or largest_step(posterior.x, at.x, n) < RELINEARISATION_DISTANCE
            ):
                return posterior, steps
            origin, target = at.x, posterior.newton_point(self._curvature(at.x, posterior.slope_pi))

    def admit_change(self, body: int | None = None, share: float = 1.0) -> None:
        """Admit a change of the bodies: their covariance moves to the prior's; friction does not change.

        Args:
            body: Number of the only body that has changed; None for all of them.
            share: Of what is known of it that is forgotten, 0 to 1; 1 admits any change.
        """
        n, kept = self._n_inertial, 1.0 - share
        opened = slice(0, n) if body is None else slice(10 * body, 10 * body + 10)
        scale = math.sqrt(kept)
        self.P = self.P.copy()
        self.P[opened] *= scale
        self.P[:, opened] *= scale
        self.P[opened, opened] += share * self._P_prior[opened, opened]
        self._centre = self._centre.copy()
        self._centre[opened] += share * (self.x[opened] - self._centre[opened])


def _compare(
    at: BodyLinearisation, x: Array, P: Array, equation: LinearEquation
) -> tuple[Array, Array, Array, Array, float, float]:
    """Compare a measurement with the prediction of a state, as `compared` does."""
    curved = 10 * len(at.pi_C)
    return compared(at.dphi, curved, at.phi, at.x, x, P, equation.regressor, equation.value, equation.noise)


def _unresolvable(innovation: Array, variance: Array) -> FilterUpdate:
    """Return the outcome of a measurement that floating point cannot relate to the state.

    Its NIS is that of rows taken as independent.

    Raises:
        MeasurementError: If it is not finite.
    """
    nis = float((innovation**2 / np.maximum(variance, np.finfo(float).tiny)).sum())
    if not math.isfinite(nis):
        raise MeasurementError(
            "the measurement equation is not finite: readings are beyond any sensor's range"
        )
    return FilterUpdate(innovation, nis, False, Decision.UNRESOLVABLE, 0, variance)
