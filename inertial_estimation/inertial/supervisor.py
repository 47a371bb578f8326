"""Supervision of the filter: which blocks of equations it learns, by the hypotheses of the bank of causes.

A block is learned after a delay of DELAY blocks without an event, so that nothing has to be undone. During an
event nothing is learned; it ends when the raw residuals of the last blocks agree with the estimate again. If
a load is detected, the covariance of its body is inflated and the blocks since its onset are learned at once.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from scipy.special import chdtri

from inertial_estimation.inertial.bank import (
    OFFSET,
    PUSH_S,
    STRADDLING,
    TOLERANCE,
    Bank,
    BankBlock,
    CauseHypothesis,
    CauseProbabilities,
)
from inertial_estimation.inertial.cause_table import CauseColumns, CauseKind, CauseTable
from inertial_estimation.inertial.filter import InformationFilter
from inertial_estimation.inertial.noise import KNOWN_S
from inertial_estimation.signals import Array

DELAY = 8  # blocks by which learning is delayed
FIRST_S = 0.8  # length of the first data, which determine the noise; their delay is STRADDLING blocks [s]
LONGEST_WINDOW = 16  # largest number of blocks of an event that the bank evaluates
CONTEXT = 4  # blocks before the onset of an event that are kept: they separate model errors from it
AGREED = 3  # blocks whose raw residuals must agree with the estimate for an event to end
RARE = 0.01  # share of blocks of noise alone that the bank evaluates, those with the largest sums of squares
QUIET_ROW = 9.0  # squared normalised innovation of a row, or of its mean, from which the bank evaluates
JUDGED_AGAIN = 0.125  # relative growth of the length of an event after which it is evaluated again
HELD = 0.5  # probability of no event below which blocks are not learned
ODDS = 100.0  # odds from which a cause is certain
NAMED = 10.0  # odds within which links are reported as indistinguishable
FITS, FITS_ROW = 1.6, 6.0  # largest mean square of whitened residuals that is noise, of all rows and of one
LATELY_S = 5.0  # time after a load on a body during which further changes are expected [s]
STILL_S = 0.6  # time after which a load that stands still is no longer followed [s]
FOLLOWING_S = 0.1  # random walk of a followed load: time to change by an expected load; decay of it [s]
RELOADED = 600.0  # frequency of load changes on a recently loaded body over that on others
LONGEST_EVENT_S = 10.0  # length of an event after which past information is discounted [s]
KEPT_PAST = 0.1  # share of past information that is kept then
FIRST_EVENT_S = 0.5  # time after which contradicted first data are discarded, if no push explains it [s]


class Phase(Enum):
    """Whether new blocks are learned."""

    LEARNING = "learning"
    HOLDING = "holding"


@dataclass(frozen=True, eq=False)
class FoundCause:
    """The most probable cause of an event.

    Attributes:
        hypothesis: The most probable hypothesis.
        probability: Probability of all causes of its kind.
        indices: Bodies or inputs that the data hardly distinguish, the most probable first.
        as_press: Probability that a load is a steady press instead.
        certain: Whether it is certain enough to act on.
        is_reported: Whether it is certain, or certainly a load or a steady press, and explains the data.
        columns: Columns of the causes in the last block.
    """

    hypothesis: CauseHypothesis
    probability: float
    indices: tuple[int, ...]
    as_press: float
    certain: bool
    is_reported: bool
    columns: CauseColumns

    def press(self, table: CauseTable) -> Array:
        """Return force and moment of a steady press at the body's centre of mass, base axes, (6,).

        Args:
            table: Table of the causes.
        """
        assert self.hypothesis.amplitudes is not None
        amplitude = self.hypothesis.amplitudes * table.load_size
        moment, upwards = self.columns.R_BJ[self.hypothesis.index] @ amplitude[1:], self.columns.upwards
        return -np.concatenate((amplitude[0] * upwards, np.cross(moment, upwards)))


def found_cause(verdict: CauseProbabilities, columns: CauseColumns) -> FoundCause:
    """Return the most probable cause of a verdict, with the bodies that are hardly distinguishable from it.

    Args:
        verdict: Hypotheses of the bank with their probabilities.
        columns: Columns of the causes in the last block.
    """
    best = verdict.best
    least = best.log_odds - np.log(NAMED)
    alike = [h for h in verdict.hypotheses if h.kind is best.kind and h.row is best.row]
    indices = tuple(dict.fromkeys(h.index for h in alike if h.log_odds > least))
    probability, pressed = verdict.probability(best.kind), verdict.probability(CauseKind.PRESS)
    certain = probability > 1.0 - 1.0 / ODDS
    open_ = best.kind is CauseKind.LOAD and probability + pressed > 1.0 - 1.0 / ODDS
    reportable = (certain or open_) and best.blocks >= STRADDLING
    reported = best.amplitudes is not None and reportable and fits(best)
    return FoundCause(best, probability, indices, pressed, certain, reported, columns)


def fits(h: CauseHypothesis) -> bool:
    """Return whether the residuals that a cause leaves are noise."""
    return h.misfit < FITS and h.worst_row < FITS_ROW


@dataclass
class Event:
    """State of the present event.

    Attributes:
        held_s: Time since it began [s].
        before: Number of waiting blocks before its onset; zero if unknown.
        pushed: Whether a push or a load has explained it at any time.
    """

    held_s: float = 0.0
    before: int = 0
    pushed: bool = False


@dataclass
class Loads:
    """The loads that have been learned.

    A load that is put on or taken off is followed: the parameters of its body are a random walk whose density
    decays with the time since the last change, so that a swinging load is tracked and a steady one converges.

    Attributes:
        count: Number of loads.
        followed: Time of the last change of each followed load, by body [s].
        expected: Time of the last change of each body on which further changes are expected [s].
        mass_kg: Mass of these bodies at that time [kg].
    """

    count: int = 0
    followed: dict[int, float] = field(default_factory=dict)
    expected: dict[int, float] = field(default_factory=dict)
    mass_kg: dict[int, float] = field(default_factory=dict)

    def found(self, body: int, time_s: float) -> None:
        """Note a load on a body."""
        self.count += 1
        self.followed[body] = self.expected[body] = time_s
        self.mass_kg.pop(body, None)

    def share(self, body: int, mass_kg: float, moved_kg: float, time_s: float) -> float:
        """Return the share of the random walk of a followed load; zero, and no longer followed, if it stays.

        Args:
            body: Index of the body in the filter.
            mass_kg: Present mass of the body [kg].
            moved_kg: Change of the mass that counts as a change of the load [kg].
            time_s: Present time [s].
        """
        if abs(mass_kg - self.mass_kg.get(body, np.inf)) > moved_kg:
            self.mass_kg[body], self.followed[body] = mass_kg, time_s
            self.expected[body] = time_s
        still_s = time_s - self.followed[body]
        if still_s > STILL_S:
            del self.followed[body]
            return 0.0
        return float(np.exp(-still_s / FOLLOWING_S))


@dataclass
class Progress:
    """Progress of learning.

    Attributes:
        time_s: Duration of all blocks [s].
        learned_s: Duration of the blocks learned since the start or the last restart [s].
        forced_s: Remaining time for which all blocks are learned [s].
        unjudged: Number of blocks since the last evaluation by the bank.
        events: Number of events.
        starts: Number of restarts.
    """

    time_s: float = 0.0
    learned_s: float = 0.0
    forced_s: float = 0.0
    unjudged: int = 0
    events: int = 0
    starts: int = 0


class Supervisor:
    """Decides block by block what the filter learns.

    Attributes:
        phase: Whether it learns or holds.
        found: Cause of the present event, or the last load that was learned; None if there is neither.
        progress: Progress of learning.
        loads: The loads that have been learned.
        waiting: Blocks that are not learned yet, the newest last.
        bodies: Index in the filter of each candidate body that is estimated.
    """

    def __init__(
        self,
        filter_: InformationFilter,
        bank: Bank,
        bodies: Mapping[int, int],
        load_step: Callable[[int], Array],
        switch_on: Callable[[int], bool] = lambda _candidate: False,
    ) -> None:
        """Supervise a filter.

        Args:
            filter_: The filter.
            bank: The bank of causes.
            bodies: Index in the filter of each candidate body that is estimated.
            load_step: Root of the covariance of a change of an estimated body by a load, shape (10, 10).
            switch_on: Adds a candidate body to the filter; returns whether that is possible.
        """
        self._filter, self._bank, self.bodies, self._load_step = filter_, bank, bodies, load_step
        self._switch_on = switch_on
        self.reset()

    def reset(self) -> None:
        """Discard all blocks, events and loads."""
        self.phase = Phase.LEARNING
        self.found: FoundCause | None = None
        self.progress = Progress()
        self.loads, self._event = Loads(), Event()
        self._bank.carried[:] = self._bank.expected[:] = 0.0
        self.waiting: deque[BankBlock] = deque()
        self.verdict: CauseProbabilities | None = None  # of the waiting blocks; None if they are calm

    @property
    def table(self) -> CauseTable:
        """The table of causes."""
        return self._bank.table

    @property
    def _delay(self) -> int:
        """Number of blocks by which learning is delayed."""
        if self.loads.followed:
            return 0
        return DELAY if self.progress.learned_s > FIRST_S else STRADDLING

    def feed(self, block: BankBlock) -> None:
        """Process the next block.

        Args:
            block: The equations and the columns of causes.
        """
        self.progress.time_s += block.rows.dt
        self.progress.forced_s -= block.rows.dt
        if self.progress.forced_s > 0.0:
            self._learn(block)
            return
        self.waiting.append(block)
        if len(self.waiting) < (2 if self._delay else 1):
            return
        self.progress.unjudged += 1
        if self.phase is Phase.HOLDING:
            self._hold(block)
        elif not self._is_calm(block):
            self.verdict = self._judged(0.0)
            if not self.loads.followed:
                self.found = None
            if self.verdict.normal >= 1.0 / ODDS:
                if self.verdict.normal >= HELD or len(self.waiting) >= LONGEST_WINDOW:
                    self._learn_old()
                return
            self.phase, self._event = Phase.HOLDING, Event()
            self.progress.events += 1
            self._hold(block)
        else:
            self.verdict = None
            self._learn_old()

    def _judged(self, held_s: float) -> CauseProbabilities:
        """Return the verdict of the bank on the waiting blocks, in an event that has lasted for a time [s].

        The bank is given the loads that bodies carry and where loads have changed recently. If the noise has
        always been larger than assumed, its scale is increased.
        """
        self.progress.unjudged = 0
        filter_, bank = self._filter, self._bank
        for candidate, body in self.bodies.items():
            mass, nominal = filter_.posterior.at.pi_C[body, 0], filter_.unknowns.bodies[body].nominal_J.mass
            bank.carried[candidate] = max(0.0, float(mass) - nominal)
            expected = self.progress.time_s - self.loads.expected.get(body, -np.inf) < LATELY_S
            bank.expected[candidate] = np.log(RELOADED) if expected else 0.0
        verdict = bank.judge(list(self.waiting), filter_.posterior, filter_.noise, held_s)
        filter_.noise.enlarge(verdict.best.noise_factor)
        return verdict

    def hand_over_rate(self, stated: float) -> float:
        """Return the largest rate of change of a published mass, which is larger while a load is followed.

        Args:
            stated: The configured rate [kg/s].
        """
        return max(stated, float(self.table.load_size[0]) / FOLLOWING_S) if self.loads.followed else stated

    def conclude(self) -> None:
        """Learn all waiting blocks unless an event is suspected, and end it: no further blocks will come."""
        normal = self.verdict is None or self.verdict.normal >= HELD
        while self.phase is Phase.LEARNING and normal and self.waiting:
            self._learn(self.waiting.popleft())
        self.verdict = None
        self._end(0)

    def _is_calm(self, block: BankBlock) -> bool:
        """Return whether a block and the mean of the waiting blocks agree with the estimate within noise."""
        waiting, noise = [b.deviation for b in self.waiting], self._filter.noise
        rho = noise.correlation[noise.groups]
        of_mean = OFFSET**2 + (1.0 + rho) / (1.0 - rho) / len(waiting)
        squares = block.deviation**2, (sum(waiting) / len(waiting)) ** 2 / of_mean
        largest = float(chdtri(block.rows.size, RARE))
        calm = all(float(q.sum()) < largest and float(q.max()) < QUIET_ROW for q in squares)
        return calm and self.found is None

    def _learn_old(self) -> None:
        """Learn the blocks whose delay is over."""
        old = [self.waiting.popleft() for _ in range(len(self.waiting) - self._delay)]
        if old:
            self._learn(*old)

    def _hold(self, block: BankBlock) -> None:
        """Process a block during an event.

        A load that is accepted is learned. The event ends when no cause is needed or the raw residuals agree
        with the estimate. First data that an event contradicts for long are discarded; after a very long
        event past information is discounted. Otherwise the event continues.
        """
        event, unjudged = self._event, self.progress.unjudged
        if unjudged and unjudged * block.rows.dt > JUDGED_AGAIN * event.held_s:
            self.verdict = self._judged(event.held_s)
        event.held_s += block.rows.dt
        assert self.verdict is not None
        if not self.progress.unjudged:  # it has just been judged
            self.found = found_cause(self.verdict, block.columns)
            if self._accepts_load(self.found):
                return
            event.before = len(self.waiting) - (self.found.hypothesis.blocks or len(self.waiting))
        assert self.found is not None
        best = self.found.hypothesis
        event.pushed |= best.kind in (CauseKind.PUSH, CauseKind.PRESS, CauseKind.LOAD) and fits(best)
        learned_s, enough = self.progress.learned_s, event.held_s > (AGREED - 0.5) * block.rows.dt
        if enough and (self.verdict.normal > 1.0 - 1.0 / ODDS or self._agrees()):
            self._end(1)
        elif learned_s < KNOWN_S and event.held_s > max(PUSH_S if event.pushed else FIRST_EVENT_S, learned_s):
            self._filter.reset()
            self.progress.starts += 1
            self.progress.learned_s = 0.0
            self._end(len(self.waiting) - event.before)
        elif event.held_s > LONGEST_EVENT_S:
            self._discount_past()
        else:
            event.before = _trim(self.waiting, event.before)

    def _accepts_load(self, found: FoundCause) -> bool:
        """Learn a load if it is accepted; return whether it is.

        It must be certain and, where none is expected, leave no more than noise. Of indistinguishable bodies
        those that are expected to carry loads are chosen.
        """
        h = found.hypothesis
        least = 1 if self.bodies.get(h.index, -1) in self.loads.followed else STRADDLING
        if h.kind is not CauseKind.LOAD or not found.certain or h.blocks < least:
            return False
        if not (fits(h) or self._bank.expected[h.index]):
            return False
        if not any(i in self.bodies for i in found.indices) and not self._switch_on(h.index):
            return False
        alike = [self.bodies[i] for i in found.indices if i in self.bodies]
        self._admit_load([body for body in alike if self._filter.unknowns.carries(body)] or alike, h)
        return True

    def _discount_past(self) -> None:
        """Discount past information and learn all data for a while: the robot or its noise has changed."""
        self._filter.discount(KEPT_PAST)
        for number in set(self.bodies.values()):
            self._filter.admit_change(number, self._load_step(number))
        self._filter.solve()
        self._end(AGREED)
        self.progress.forced_s = KNOWN_S

    def _admit_load(self, bodies: list[int], load: CauseHypothesis) -> None:
        """Inflate the bodies one of which has a new load, and learn the blocks since its onset."""
        blocks = load.blocks
        for body in bodies:
            self.loads.found(body, self.progress.time_s)
            self._filter.admit_change(body, self._load_step(body))
            self._filter.carry(body, float(self.table.load_size[0]))
        before = float(self._filter.posterior.at.pi_C[bodies, 0].sum())
        since = list(self.waiting)[-max(blocks - 1, 1) :]
        self.waiting.clear()
        self.phase = Phase.LEARNING
        self._filter.solve()
        self._learn(*since)
        for body in bodies:
            self._filter.expect(body)
        mass = float(self._filter.posterior.at.pi_C[bodies, 0].sum()) - before
        assert self.found is not None
        assert load.amplitudes is not None
        share = mass / (load.amplitudes[0] * self._bank.table.load_size[0])
        reported = replace(load, amplitudes=share * load.amplitudes)
        self.found = replace(self.found, hypothesis=reported, is_reported=True)

    def _end(self, keep: int) -> None:
        self.phase, self.found = Phase.LEARNING, None
        while len(self.waiting) > keep:
            self.waiting.popleft()

    def _agrees(self) -> bool:
        """Return whether the raw residuals of the last blocks agree with the estimate.

        The noise is as estimated if a certain steady cause explains the event, else as large as it may be.
        """
        best = None if self.found is None or not self.found.certain else self.found.hypothesis
        explained = best is not None and best.row is not None and best.row.constant and fits(best)
        filter_, last = self._filter, [block.rows for block in list(self.waiting)[-AGREED:]]
        larger = 1.0 if explained else filter_.noise.uncertainty(at_rest=last[-1].at_rest) ** 2
        noise = [rows.with_friction(filter_.noise.scaled(rows.noise)).diagonal() for rows in last]
        squares = [
            filter_.innovation(rows) ** 2 / (larger * own + filter_.predicted_variance(rows))
            for rows, own in zip(last, noise, strict=True)
        ]
        mean = np.mean(squares, axis=0)
        fitting = float(mean.sum()) < FITS * last[-1].size and float(mean.max()) < FITS_ROW
        return len(last) == AGREED and fitting

    def _learn(self, *blocks: BankBlock) -> None:
        self._filter.learn(*(block.rows for block in blocks))
        duration = sum(block.rows.dt for block in blocks)
        self.progress.learned_s += duration
        for body in list(self.loads.followed):
            self._follow(body, duration)

    def _follow(self, body: int, dt: float) -> None:
        """Apply the random walk of a followed load, which decays while the mass stands still."""
        mass = float(self._filter.posterior.at.pi_C[body, 0])
        moved = TOLERANCE * self._bank.table.load_size[0]
        share = self.loads.share(body, mass, moved, self.progress.time_s)
        if share:
            self._filter.admit_change(body, np.sqrt(share * dt / FOLLOWING_S) * self._load_step(body))
            self._filter.expect(body)
            self._filter.solve()


def _trim(waiting: deque[BankBlock], before: int) -> int:
    """Drop blocks long before the onset of an event, and the first ones of a long event.

    Args:
        waiting: The blocks, the newest last.
        before: Number of blocks before the onset; the number after dropping is returned.
    """
    while len(waiting) > DELAY and before > CONTEXT:
        waiting.popleft()
        before -= 1
    while len(waiting) > LONGEST_WINDOW:
        del waiting[min(before, CONTEXT)]
    return before
