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

import numpy as np

from inertial_estimation.compilation import warm_up
from inertial_estimation.construction import made_of_checked
from inertial_estimation.errors import MeasurementError, NumericalError
from inertial_estimation.estimators.inertial.body_coordinates import BodyCoordinates
from inertial_estimation.estimators.inertial.filter_steps import (
    compared,
    corrected,
    decayed,
    largest_step,
)
from inertial_estimation.estimators.inertial.filter_values import (
    FilterState,
    FilterUpdate,
    Innovation,
    parameters_by,
    unresolvable,
)
from inertial_estimation.estimators.inertial.gate import InnovationGate
from inertial_estimation.estimators.inertial.linearisation import (
    BodyLinearisation,
    DataInformation,
    Posterior,
    cholesky,
    inverse,
    made_prior,
)
from inertial_estimation.estimators.inertial.prior import PriorSigma, prior_covariance
from inertial_estimation.estimators.inertial.sensor_states import StateKinds
from inertial_estimation.estimators.inertial.usual_update import CORRECTED, MOVED, usual_update
from inertial_estimation.models.body_reference import BodyReference
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array, Decision
from inertial_estimation.spatial import linear_algebra

CLOSED = 1e-6  # share of the prior variance of a body that does not take part yet
RELINEARISATION_DISTANCE = 0.01  # of the mean from the last point; logarithms, or lengths in gyration radii
LARGEST_RELINEARISATION_STEP = 0.35  # exp(2 * 0.35) = twice the mass
MOST_RELINEARISATIONS = 30  # in one update; one or two suffice unless the mass changes by a large factor
_EVERY_ROW = np.zeros(0, dtype=np.int64)


Figures = tuple[float, float]  # NIS and log det S
Comparison = tuple[
    Array, Array, Array, Array
]  # H, H P, innovation and its covariance (`filter_steps.compared`)
_state, _update = made_of_checked(FilterState), made_of_checked(FilterUpdate)


class InertialFilter(BodyCoordinates):
    """Estimates the inertial parameters of bodies, and friction, from linear equations.

    Attributes:
        x: State, shape (n,).
        P: Its covariance, shape (n, n).
        bodies: The bodies, in the order of the state.
        kinds: Which states are those of bodies and friction, and which errors of sensors.
        overlap: Updates per independent measurement, at least one.
        prior_factor: Lower Cholesky factor of the prior covariance, shape (n, n).
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
        self.prior_factor: Array = linear_algebra.cholesky(self._P_prior)
        self._prior_information = inverse(self._P_prior)
        self._state: FilterState | None = None  # the last one that has been asked for or computed
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
    def is_sound(self) -> bool:
        """Whether the state is finite, its covariance positive definite, and no coordinate at its bound."""
        if not (np.isfinite(self.x).all() and np.isfinite(self.P).all()):
            return False
        try:
            cholesky(self.P.copy())
        except MeasurementError:
            return False
        return not self.touches_bound(self.x)

    def reset(self) -> None:
        """Return to the nominal parameters and the prior covariance."""
        self.x: Array = self._x_nominal.copy()
        self.P: Array = self._P_prior.copy()
        self._centre: Array = self._x_nominal.copy()
        self._at: BodyLinearisation = self._linearisation(self.x)
        self.gate.reset()

    @property
    def phi(self) -> Array:
        """Parameters about the joint frames by the linearisation, friction last, shape (n,)."""
        return parameters_by(self._at, self.x)

    @property
    def state(self) -> FilterState:
        """The state, to be given back to `restore`: no array of it is changed in place."""
        made, x, P, centre, at = self._state, self.x, self.P, self._centre, self._at
        if made is None or not (made.x is x and made.P is P and made.centre is centre and made.at is at):
            made = self._state = _state(x, P, centre, at, None)
        return made

    def restore(self, state: FilterState) -> None:
        """Return to an earlier state."""
        self.x, self.P, self._centre, self._at = state.x, state.P, state.centre, state.at
        self._state = state

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
        (_H, _HP, y, S), (nis, log_det) = _compare(state.at, state.x, state.P, equation)
        return Innovation(y, nis, S, log_det)

    def data_of(self, state: FilterState) -> DataInformation:
        """Return what the data alone say in a state.

        Raises:
            MeasurementError: If the covariance of the state is not positive definite.
        """
        prior = made_prior(state.centre, self._prior_information)
        return DataInformation(state.at, state.x, state.P, prior)

    def predict(self, equation: LinearEquation) -> Array:
        """Return the predicted value A phi(x) of an equation, shape (m,)."""
        prediction: Array = equation.regressor @ self.phi
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
        state = self.x, self._centre, self.P
        after = np.empty_like(self.x), np.empty_like(self.x), np.empty_like(self.P)
        decayed(state, (self._x_nominal, self._P_prior, self.kinds.memories), dt, after)
        self.x, self._centre, self.P = after
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
        if self._Q is not None:
            self.propagate(dt)
            return self._judge(_compare(self._at, self.x, self.P, equation), equation, dt, reopen=reopen)
        n, m, at, informing = len(self.x), len(equation.value), self._at, self.kinds.informing
        x, P, centre, after = np.empty(n), np.empty((n, n)), np.empty(n), (np.empty(n), np.empty((n, n)))
        curved_map = self.curved_map
        parameters = np.empty(n), np.empty((0 if curved_map is None else len(self.bodies), 10))
        innovation, variance = np.empty(m), np.empty(m)
        farthest = RELINEARISATION_DISTANCE if self.is_curved else math.inf
        outcome, nis, log_det, distance = usual_update(
            (self.x, self._centre, self.P),
            (self._x_nominal, self._P_prior, self.kinds.memories),
            (at.dphi, at.phi, at.x),
            (equation.regressor, equation.value, equation.noise),
            (self.kinds.corrected, _EVERY_ROW if informing is None else informing),
            (dt, self.gate.limit, self.overlap, farthest),
            (self._n_inertial, curved_map is not None and curved_map[0]),
            *((x, centre, P), (innovation, variance), after, parameters),
        )
        self._centre = centre
        if outcome != CORRECTED:
            self.x, self.P = x, P
            if outcome == MOVED:
                self._relinearise()
            return self._judge(_compare(self._at, self.x, self.P, equation), equation, dt, reopen=reopen)
        self.gate.decide(nis, dt)
        innovation.setflags(write=False)  # the estimate holds it as it is
        self.x, self.P = after
        iterations = 0
        if not distance < farthest:
            iterations = self._relinearise()
        elif curved_map is not None:
            self._state = _state(*after, centre, at, parameters)
        return _update(innovation, nis, True, Decision.ACCEPTED, iterations, variance, log_det)

    def _judge(
        self, compared_: tuple[Comparison, Figures], equation: LinearEquation, dt: float, *, reopen: bool
    ) -> FilterUpdate:
        """Decide about a measurement and correct the state if it is accepted."""
        (H, HP, innovation, S), (nis, log_det) = compared_
        variance = S.diagonal().copy()
        if not math.isfinite(nis):
            return unresolvable(innovation, variance)
        decision = self.gate.decide(nis, dt)
        if decision is Decision.REOPENED and not reopen:
            decision = Decision.REJECTED
        if decision is Decision.REJECTED:
            return FilterUpdate(innovation, nis, False, decision, 0, variance, log_det)
        if decision is Decision.REOPENED:
            self.admit_change()
            HP = H @ self.P
            S = HP @ H.T + equation.noise
        comparison, noise = self.kinds.informed((H, HP, innovation, S), equation.noise)
        after = np.empty_like(self.x), np.empty_like(self.P)
        if not corrected((self.x, self.P), comparison, noise, self.overlap, self.kinds.corrected, after):
            return unresolvable(innovation, variance)
        self.x, self.P = after
        return FilterUpdate(innovation, nis, True, decision, self._relinearise(), variance, log_det)

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
) -> tuple[Comparison, Figures]:
    """Compare a measurement with the prediction of a state, as `compared` does."""
    A, value, noise = equation.regressor, equation.value, equation.noise
    comparison = np.empty_like(A), np.empty_like(A), np.empty_like(value), np.empty_like(noise)
    curved = 10 * len(at.pi_C)
    return comparison, compared((at.dphi, at.phi, at.x), curved, (x, P), (A, value, noise), comparison)
