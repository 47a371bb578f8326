"""Filters the readings of the first seconds again, all of them about the estimates that they led to.

With errors e of the sensors the equation is bilinear in the parameters phi and e: E, the effect of an error
of the accelerometer on the rows, is the mass matrix, and the regressor is that of the corrected acceleration.
Linearised about (phi_k, e_k), where the estimates are at its time,

    A(e_k) phi - E(phi_k) e = z(e_k) - E(phi_k) e_k + noise,

what is left out, E(phi - phi_k) (e - e_k), is largest in the first equations, and since the points k differ,
the data seem to separate what they do not: a mass, and an accelerometer that reads too much. The filter
becomes certain of both. The cure is one point of linearisation for all of them, as in the iterated Kalman
smoother (Bell 1994), which is Gauss-Newton on the posterior:

- readings are kept, one of those that share a window;
- when their number has doubled, a second filter begins at the prior and takes all of them about the present
  estimates of the first, a few at each step;
- when it has caught up, its state replaces that of the first, and new equations are linearised about the same
  point, until the next pass.

Differences left after the last pass are those of estimates that have settled. What contradicts the data ends
the passes, since readings before it may have been faulty, too, and what was learned from them is taken back
by the watch.
"""

from dataclasses import dataclass

from inertial_estimation.estimators.inertial.corrected_filter import CorrectedFilter
from inertial_estimation.estimators.inertial.estimation_model import EstimationModel
from inertial_estimation.estimators.inertial.guarded_filter import WatchPhase
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.models.sensor_errors import OF_ACCELEROMETER
from inertial_estimation.signals import Array

GROWTH = 2  # readings of a pass over those of the pass before: all passes together cost as much as the last
PER_STEP = 2  # kept readings that a pass takes at each step: more than one, so that it catches up
MOST_REJECTED = 0.1  # share of the readings of a pass


@dataclass(frozen=True, slots=True, eq=False)
class LinearisationPoint:
    """Where an equation is linearised that is bilinear in the parameters and the errors of sensors.

    Attributes:
        phi: Parameters about the joint frames, friction and errors last, shape (n,).
        errors: The errors, shape (k,).
    """

    phi: Array
    errors: Array


class KeptReadings:
    """Readings of the first seconds, one of those that share a window.

    Attributes:
        readings: Each with the time since the one before [s].
    """

    def __init__(self, every: int, duration: float) -> None:
        """Begin before the first one.

        Args:
            every: Number of readings that one of them stands for.
            duration: Time from the start for which readings are kept [s].
        """
        self._every, self._duration = every, duration
        self.reset()

    def reset(self) -> None:
        """Begin before the first one."""
        self.readings: list[tuple[MeasuredState, float]] = []
        self._time = self._since_latest = 0.0
        self._seen = 0

    @property
    def are_all(self) -> bool:
        """Whether the time is over."""
        return self._time > self._duration

    def advance(self, dt: float) -> None:
        """Let a time [s] pass."""
        self._time += dt
        self._since_latest += dt

    def add(self, state: MeasuredState) -> None:
        """Keep a reading if it is its turn and the time is not over."""
        if self.are_all:
            return
        self._seen += 1
        if self._seen % self._every == 0:
            self.readings.append((state, self._since_latest))
            self._since_latest = 0.0


class RepeatedPasses:
    """Repeats the filtering of the first seconds about better and better estimates.

    Attributes:
        point: Where new equations are linearised; None: at the present estimates.
        over: Whether nothing is kept or repeated any more.
        passes: Number of passes that have replaced the state of the filter.
    """

    def __init__(self, model: EstimationModel, config: InertialPipelineConfig) -> None:
        """Begin before the first reading.

        Args:
            model: Gives the equations, and a filter like the one whose state is replaced.
            config: Its parameters. Nothing is repeated where the accelerometer has no errors, which alone
                multiply parameters of bodies noticeably.
        """
        names = () if model.errors is None else model.errors.names
        bilinear = not set(OF_ACCELEROMETER).isdisjoint(names)
        duration = config.sensor_errors.repeated_time
        self._model, self._filter = model, model.make_filter(config)
        self._is_off = not bilinear or duration <= 0.0
        every = max(1, round(self._filter.overlap))
        self._filter.overlap /= every  # one reading stands for as many
        self._kept = KeptReadings(every, duration)
        self.reset()

    def reset(self) -> None:
        """Begin before the first reading."""
        self.point: LinearisationPoint | None = None
        self.over, self.passes = self._is_off, 0
        self._kept.reset()
        self._next_point: LinearisationPoint | None = None  # that of a pass under way
        self._due, self._taken, self._rejected = 1, 0, 0

    def end(self) -> None:
        """Keep and repeat nothing any more, and linearise at the present estimates."""
        self.reset()
        self.over = True

    def feed(
        self, equation: LinearEquation, dt: float, corrected: CorrectedFilter, *, accepted: bool
    ) -> None:
        """Keep a reading, go on with a pass, and give the filter its state when it has caught up.

        Args:
            equation: That of a step, with its state.
            dt: Time since the last one [s].
            corrected: The filter under watch, with the corrections of its equations.
            accepted: Whether the filter has learned from it.
        """
        if self.over:
            return
        if corrected.guarded.phase is not WatchPhase.GOOD:
            self.end()
            return
        kept = self._kept
        kept.advance(dt)
        if accepted:
            assert equation.state is not None
            kept.add(equation.state)
        if self._next_point is None and self._is_due():
            self._begin(corrected.guarded.filter)
        if self._next_point is not None:
            self._go_on(self._next_point, corrected)
        elif kept.are_all:
            self.end()

    def _is_due(self) -> bool:
        """Return whether enough readings have been kept since the last pass, or these are the last."""
        number = len(self._kept.readings)
        return number >= self._due or (self._kept.are_all and self._taken < number)

    def _begin(self, learned: InertialFilter) -> None:
        self._next_point = LinearisationPoint(learned.phi, learned.x[learned.kinds.inferred :])
        self._filter.reset()
        self._taken = self._rejected = 0

    def _go_on(self, point: LinearisationPoint, corrected: CorrectedFilter) -> None:
        errors, measurement, readings = self._model.errors, self._model.measurement, self._kept.readings
        assert errors is not None
        gate, learned = self._filter.gate, corrected.guarded.filter.gate
        gate.config, gate.factor = learned.config, learned.factor
        for state, dt in readings[self._taken : self._taken + PER_STEP]:
            equation = errors.appended(
                measurement.equation(errors.about(state, point.errors), point.phi), point.phi
            )
            update = self._filter.update(corrected.freed(equation), dt, reopen=False)
            self._taken += 1
            self._rejected += not update.accepted
        if self._taken < len(readings):
            return
        self._next_point = None
        if self._rejected > MOST_REJECTED * self._taken:
            self.end()
            return
        corrected.guarded.filter.restore(self._filter.state)
        self.point, self._due = point, GROWTH * self._taken
        self.passes += 1
