"""The inertial filter under watch: a change of the load is believed, a fault of an input is not.

The phases and their transitions are drawn in docs/inertial_filter.md.
"""

from dataclasses import replace
from enum import Enum

from inertial_estimation.estimators.inertial.cause_inquiry import CauseInquiry
from inertial_estimation.estimators.inertial.change_trial import ChangeTrial, TrialOutcome
from inertial_estimation.estimators.inertial.filter_values import FilterState, FilterUpdate, Innovation
from inertial_estimation.estimators.inertial.good_states import GoodStates
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.usual_level import UsualLevel
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.located_cause import Cause
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array, Decision

MOVED = 0.02  # relative change of a mass by suspect data, from which on a state without it must explain them
UNDONE = 0.01  # the same, from which on it is undone where the state before explains the data as well
MOMENT = 0.15  # between the first and the last suspect data, below which nothing is wrong yet [s]
LONGEST_MOMENT = 0.4  # the same, while suspect data have not moved the estimate [s]
UNCONFIRMED = 10.0  # time for which a change is reported that need not be a load on one body [s]
HANDED_OVER = 2.0  # the same once the state before the change is back, until it is published again [s]


class WatchPhase(Enum):
    """Whether the filter's parameters are trusted.

    GOOD: they are. SUSPECT: the innovations are far above their usual level, though within the gate, and the
    published parameters are held while their cause is looked for. PUSHED: a push, a fault of one input or a
    load on a body that is not estimated explains them, and learning waits. TRIAL: a body has been opened, or
    all of them, and a change of the load is on trial. FROZEN: nothing explains the data, and the filter stays
    at its last good state.
    """

    GOOD = "good"
    SUSPECT = "suspect"
    PUSHED = "pushed"
    TRIAL = "trial"
    FROZEN = "frozen"


class GuardedFilter:
    """Updates a filter and decides which of its states may be published.

    Attributes:
        config: Times and factors.
        filter: The filter.
        phase: Whether its parameters are trusted.
        in_phase_for: Time since the phase began [s].
        returns: Number of returns to an earlier state.
        freezes: Number of times that learning was suspended.
        cause: Input that the suspect data point to; empty before.
        inquiry: Looks for the cause of suspect data.
        good: The states to which the filter may return.
        level: Usual level of the innovations, once enough of them have been seen.
    """

    def __init__(
        self,
        filter_: InertialFilter,
        rows: int,
        config: WatchConfig,
        inquiry: CauseInquiry,
        rest_speed: float,
    ) -> None:
        """Begin at the filter's state.

        Args:
            filter_: The filter.
            rows: Number of rows of a measurement.
            config: Times and factors.
            inquiry: Looks for the cause of suspect data.
            rest_speed: Joint speed below which the robot counts as at rest [rad/s].
        """
        self.config = config
        self.filter = filter_
        self.inquiry = inquiry
        self.level = UsualLevel(rows, filter_.gate, rest_speed)
        self.good = GoodStates(filter_, config.memory)
        self._trial: ChangeTrial | None = None
        self.in_phase_for = self._explained_for = self._unconfirmed_for = 0.0
        self.reset()

    def reset(self) -> None:
        """Return to the nominal parameters."""
        self.filter.reset()
        self.level.reset()
        self.good.reset()
        self.returns = self.freezes = 0
        self.cause = ""
        self._unconfirmed_for = 0.0
        self.inquiry.end()
        self._set(WatchPhase.GOOD)

    @property
    def is_hidden(self) -> bool:
        """Whether the held state is reported: learning is frozen, or tried again after that."""
        after_freeze = self._trial is not None and self._trial.after_freeze
        return after_freeze or self.phase is WatchPhase.FROZEN

    @property
    def needs_report(self) -> bool:
        """Whether there is something to report: more than a moment of suspect data."""
        suspect_for = self.in_phase_for - self._explained_for
        if self.phase is WatchPhase.SUSPECT:
            moment = MOMENT if self.good.moved > MOVED else LONGEST_MOMENT
            return self._unconfirmed_for > 0.0 or suspect_for >= moment
        if self.phase is WatchPhase.PUSHED and self.inquiry.found.cause is Cause.FAULT:
            return suspect_for >= LONGEST_MOMENT  # the estimate is that before it
        return self._unconfirmed_for > 0.0 or self.phase is not WatchPhase.GOOD

    @property
    def reported(self) -> FilterState:
        """The state whose parameters and covariance are reported."""
        return self.good.held if self.is_hidden else self.filter.state

    def trusted(self, pi_C: Array | None = None) -> Array:
        """Return the parameters in C that may be published, shape (n, 10).

        As soon as data are suspect they are held, as they were before the first of these.

        Args:
            pi_C: Parameters of the present estimate, where they are known already.
        """
        if self.phase is WatchPhase.GOOD and pi_C is not None:
            return pi_C
        state = self.reported if self.phase is WatchPhase.GOOD else self.good.held
        return self.filter.parameters_at(self.filter.body_coordinates(state.x))

    def carry_over(self, filter_: InertialFilter) -> None:
        """Go on with a filter that has one more body, the last, on which a load has been located.

        Args:
            filter_: The filter.
        """
        filter_.gate = self.filter.gate
        filter_.restore(filter_.adopted(self.filter.state))
        self.filter = filter_
        self.good.carry_over(filter_)
        self.inquiry.estimate(filter_.bodies[-1].link, len(filter_.bodies) - 1)

    def update(self, equation: LinearEquation, dt: float, *, learn: bool = True) -> FilterUpdate:
        """Update the filter with one measurement, as its phase allows.

        Args:
            equation: The measurement.
            dt: Time since the last one [s].
            learn: False leaves the state as it is and only reports the innovation.
        """
        if not (self.config.enabled and learn):
            return self.filter.update(equation, dt, learn=learn)
        phase, good = self.phase, self.good
        self.level.look_at(equation)
        self._unconfirmed_for = max(0.0, self._unconfirmed_for - dt)
        if phase is WatchPhase.FROZEN or phase is WatchPhase.PUSHED:
            return self._update_waiting(equation, dt)
        if phase is WatchPhase.GOOD:
            good.held = self.filter.state
        good.located.advance(dt)
        update = self.filter.update(equation, dt, reopen=not self.level.is_known)
        if phase is WatchPhase.TRIAL:
            return self._update_trial(equation, update, dt)
        if update.decision is Decision.REOPENED:
            self._begin_trial()
            return update
        return self._update_good(equation, update, dt)

    def return_to_good(self) -> None:
        """Return to the last good state at once: a step has failed."""
        self.returns += 1
        self.filter.gate.reset()
        self.good.return_to(self.good.last)
        if self.phase is not WatchPhase.FROZEN:
            self._set(WatchPhase.GOOD)

    def _update_good(self, equation: LinearEquation, update: FilterUpdate, dt: float) -> FilterUpdate:
        level, good = self.level, self.good
        limit = level.limit(self.config.suspect)
        suspect = level.is_known and not (update.accepted and update.nis <= limit)
        if suspect and self.phase is WatchPhase.GOOD:
            followed = good.located.follow(good.held, equation, limit)
            update, suspect = (update, True) if followed is None else (followed, False)
        self.in_phase_for += dt
        if suspect:
            self._explained_for = 0.0
            good.forget_probation()
            level.forget_recent()
            if self.phase is WatchPhase.GOOD:
                self._set(WatchPhase.SUSPECT)
                self.inquiry.begin(self.filter, good.held, level.variance)
                self.cause = self.inquiry.input_of(update, equation)
            elif self.in_phase_for >= self.inquiry.patience(self.config):
                self._give_in(update)
                return update
        elif self.phase is WatchPhase.SUSPECT:
            self._explained_for += dt
        if self.phase is WatchPhase.SUSPECT:
            update = self._inquire(equation, update, dt)
            if self.phase is WatchPhase.SUSPECT and self._explained_for >= self.config.evidence:
                self._end_suspicion(equation)
            return update
        if update.accepted:
            level.feed(update.nis, dt)
        good.located.observe(dt)
        if not good.advance(dt):
            return update
        if self.filter.is_sound:
            good.confirm()
        else:
            self._freeze()
        return update

    def _give_in(self, update: FilterUpdate) -> None:
        """Take innovations that the gate accepts as usual: for long no single cause, no load, explains them.

        Others are put on trial with all bodies open, or freeze the filter.
        """
        if update.accepted:
            self.level.accept(update.nis)
            self._unconfirmed_for = UNCONFIRMED
            self._set(WatchPhase.GOOD)
        elif update.decision is Decision.UNRESOLVABLE:
            self._freeze()
        else:
            self._begin_trial(open_all=True)

    def _inquire(
        self, equation: LinearEquation, update: FilterUpdate, dt: float, innovation: Innovation | None = None
    ) -> FilterUpdate:
        """Look for the cause of data that contradict the held state, and act on what is certain.

        Args:
            equation: The measurement.
            update: Its outcome.
            dt: Time since the last one [s].
            innovation: That of the held state; None computes it.
        """
        if innovation is None:
            innovation = self.filter.innovation_of(self.good.held, equation)
        self.inquiry.feed(innovation, equation, dt, at_rest=not self.level.moving)
        if self.inquiry.found.is_open and self.phase is WatchPhase.SUSPECT:
            self.filter.restore(self.good.held)  # a load or a push: nothing is learned from it yet
        if innovation.nis <= self.level.limit(self.config.suspect):
            return update
        bodies = self.inquiry.bodies
        on_trial = () if self._trial is None else self._trial.bodies
        if bodies and (not on_trial or set(bodies) > set(on_trial)):
            self.filter.restore(self.good.held)
            for body in bodies:
                self.filter.admit_change(body)
            self.good.located.locate(bodies)
            self._begin_trial(bodies=bodies)
            update = replace(self.filter.update(equation, 0.0), decision=Decision.REOPENED)
        elif self.inquiry.keeps_parameters and (on_trial or self.phase is WatchPhase.SUSPECT):
            if self.good.located.varies(on_trial, self.inquiry.varied_loads(on_trial)):
                return update  # whether it does is on trial
            self.filter.restore(self.good.held)
            self._set(WatchPhase.PUSHED)
        if self.inquiry.found.decided:
            self.cause = self.inquiry.input_of(update, equation)
        return update

    def _end_suspicion(self, equation: LinearEquation) -> None:
        """Undo what suspect data have taught where a state before them explains the present data.

        Where none does, the filter has found another explanation, as of a load, which is put on trial.
        """
        if self.good.moved > UNDONE:
            states = (self.good.held, self.good.last)
            bound = self.level.limit(self.config.suspect)
            fitting = [s for s in states if self.filter.innovation_of(s, equation).nis <= bound]
            if fitting:
                self.returns += 1
                self.good.return_to(fitting[0])
            elif self.good.moved > MOVED:
                self._begin_trial()
                return
        self._set(WatchPhase.GOOD)

    def _begin_trial(
        self, *, bodies: tuple[int, ...] = (), open_all: bool = False, after_freeze: bool = False
    ) -> None:
        """Put a change on trial: of the located body, or of all where no single cause explains the data."""
        if open_all:
            self.filter.admit_change()
            self.inquiry.begin(self.filter, self.good.held, self.level.variance)
        earlier = self.good.earlier if self.level.is_known else ()
        self.filter.gate.reset()
        self._set(WatchPhase.TRIAL)
        self._trial = ChangeTrial(self.config, self.level, earlier, bodies=bodies, after_freeze=after_freeze)

    def _update_trial(self, equation: LinearEquation, update: FilterUpdate, dt: float) -> FilterUpdate:
        hidden = self.is_hidden
        self.in_phase_for += dt
        if self.level.is_known:
            self._inquire(equation, update, dt)
            if self.phase is WatchPhase.PUSHED:
                return replace(update, accepted=False, decision=Decision.PUSHED)
        assert self._trial is not None
        contradicted = self.inquiry.keeps_parameters
        outcome = self._trial.feed(self.filter, equation, update, dt, contradicted=contradicted)
        if outcome in (TrialOutcome.CHANGED, TrialOutcome.TOLERATED):
            self._unconfirmed_for = UNCONFIRMED if outcome is TrialOutcome.TOLERATED else 0.0
            self.good.change(located=outcome is TrialOutcome.CHANGED and bool(self._trial.bodies))
            self._set(WatchPhase.GOOD)
        elif outcome is TrialOutcome.BACK:
            assert self._trial.returned_to is not None
            self.returns += 1
            if self._trial.returned_to is self.good.before_change:
                self._unconfirmed_for = min(self._unconfirmed_for, HANDED_OVER)
            self.good.return_to(self._trial.returned_to)
            self.filter.gate.reset()
            self._set(WatchPhase.GOOD)
        elif outcome is TrialOutcome.GIVEN_UP and update.accepted and self.filter.is_sound:
            self._give_in(update)
        elif outcome is TrialOutcome.GIVEN_UP:
            self._freeze()
        return replace(update, accepted=False, decision=Decision.FROZEN) if hidden else update

    def _update_waiting(self, equation: LinearEquation, dt: float) -> FilterUpdate:
        """Compare the held state with the data while learning waits."""
        pushed = self.phase is WatchPhase.PUSHED
        innovation = self.filter.innovation_of(self.filter.state, equation)  # the held one
        waiting = replace(innovation.reported(), decision=Decision.PUSHED if pushed else Decision.FROZEN)
        explained = waiting.nis <= self.level.limit(self.config.suspect)
        self._explained_for = self._explained_for + dt if explained else 0.0
        self.in_phase_for += dt
        if self._explained_for >= self.config.evidence:
            self._set(WatchPhase.GOOD)
        elif pushed:
            waiting = self._inquire(equation, waiting, dt, innovation)
            if self.phase is WatchPhase.PUSHED and self.in_phase_for >= self.config.longest_push:
                self._begin_trial(open_all=True)
        elif self.in_phase_for >= self.config.retry and not explained:
            self._begin_trial(open_all=True, after_freeze=True)
        return waiting

    def _freeze(self) -> None:
        if self.phase is WatchPhase.GOOD:  # the present state is not sound
            self.good.held = self.good.last
        self.freezes += 1
        self.filter.gate.reset()
        self.good.return_to(self.good.held)
        self._set(WatchPhase.FROZEN)

    def _set(self, phase: WatchPhase) -> None:
        self.phase = phase
        self._trial = None
        if phase is WatchPhase.GOOD:
            self.inquiry.end()
        self.in_phase_for = self._explained_for = 0.0
