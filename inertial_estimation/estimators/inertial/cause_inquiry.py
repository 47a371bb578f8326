"""The inquiry into the cause of suspect data: the locators, fed with what contradicts the held state."""

from collections.abc import Mapping

import numpy as np

from inertial_estimation.estimators.inertial.filter_values import FilterState, FilterUpdate, Innovation
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.input_causes import InputNames, most_direct_input
from inertial_estimation.estimators.inertial.load_locator import LoadLocator
from inertial_estimation.estimators.inertial.locator_config import LocatorConfig
from inertial_estimation.estimators.inertial.pair_locator import PairLocator
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.dynamics_measurement import LinearEquation

SOONEST, LATEST = 0.1, 0.5  # time between two searches for a pair, each as long as several steps [s]


class CauseInquiry:
    """Asks the locator for the cause of innovations, and which estimated body a load belongs to.

    Attributes:
        found: What it has found; nothing before the first suspect data.
        locator: Accumulates the evidence of single causes.
        pairs: That of two loads at one instant, where no single cause explains the data.
    """

    def __init__(
        self, locator: LoadLocator, pairs: PairLocator, names: InputNames, bodies: Mapping[str, int]
    ) -> None:
        """Begin without data.

        Args:
            locator: Accumulates the evidence of single causes.
            pairs: That of two loads at one instant.
            names: Names of the inputs.
            bodies: Number of the estimated body by the link of the candidate, of those that are estimated.
        """
        self.locator, self.pairs = locator, pairs
        self.found = LocatedCause.nothing()
        self._names = names
        self._bodies = dict(bodies)
        self._pair: LocatedCause | None = None
        self._search_at = self._open_for = 0.0

    def set_config(self, config: LocatorConfig) -> None:
        """Take parameters of which only those that may change while running differ."""
        self.locator.config = self.pairs.config = config

    def begin(self, filter_: InertialFilter, held: FilterState, variance: float) -> None:
        """Discard what was found: new data are suspect.

        Args:
            filter_: The filter.
            held: Its state before the first suspect data.
            variance: Usual mean of the squared whitened innovations.
        """
        masses = filter_.masses_of(held.x)
        nominal = np.array([body.nominal_C[0] for body in filter_.bodies])
        payloads = (masses - nominal).tolist()
        carried = {link: payloads[body] for link, body in self._bodies.items()}
        self.locator.begin(variance, carried)
        self.pairs.begin(variance, carried)
        self._pair, self._search_at, self._open_for = None, self.pairs.earliest, 0.0
        self.found = LocatedCause.nothing()

    def estimate(self, link: str, body: int) -> None:
        """Note that a candidate is estimated from now on.

        Args:
            link: Its link.
            body: Number of the estimated body.
        """
        self._bodies[link] = body

    @property
    def unestimated(self) -> str:
        """Link on which a load has been located that is not estimated; empty for none."""
        if not self.found.decided:
            return ""
        return next((load.links[0] for load in self.found.loads if self._body(load) is None), "")

    def end(self) -> None:
        """Forget what was found: the data agree."""
        self.found = LocatedCause.nothing()

    def feed(
        self, innovation: Innovation, equation: LinearEquation, dt: float, *, at_rest: bool = False
    ) -> None:
        """Add an innovation of the held state.

        Args:
            innovation: What contradicts it.
            equation: The measurement.
            dt: Time since the last one [s].
            at_rest: Whether the joints are at rest.
        """
        fed = self.locator.feed(innovation, equation, dt, at_rest=at_rest)
        if fed is None:
            return
        age = self.locator.age
        self.pairs.add(*fed, age)
        self.found = self.locator.located()
        if age >= self._search_at:
            self._search_at = age + min(max(0.5 * age, SOONEST), LATEST)
            known = self.found.decided or self.found.is_open
            settled = known and self.locator.explains
            self._pair = None if settled else self.pairs.located(age)
        self.found = self._pair or self.found
        if self.found.is_open:
            self._open_for = age

    @property
    def certain(self) -> LocatedCause | None:
        """What has been found, once it is certain, or a load that may be a push; None otherwise."""
        return self.found if self.found.decided or self.found.is_open else None

    @property
    def bodies(self) -> tuple[int, ...]:
        """Numbers of the estimated bodies that loads have been located on; empty unless all are estimated.

        Of links that the data hardly tell apart the most probable one that is estimated counts.
        """
        if not self.found.decided:
            return ()
        bodies = [self._body(load) for load in self.found.loads]
        return tuple(body for body in bodies if body is not None) if None not in bodies else ()

    def _body(self, load: LocatedCause) -> int | None:
        return next((self._bodies[link] for link in load.links if link in self._bodies), None)

    @property
    def keeps_parameters(self) -> bool:
        """Whether the cause leaves the estimated bodies as they are: a push, a fault, a load elsewhere."""
        found = self.found
        return found.decided and (found.cause in (Cause.PUSH, Cause.FAULT) or not self.bodies)

    def varied_loads(self, bodies: tuple[int, ...]) -> tuple[int, ...]:
        """Return which of some bodies' loads vary: a load was certain, now a force along gravity there is.

        Args:
            bodies: Numbers of the estimated bodies on which loads had been located.
        """
        found = self.found
        if not (found.decided and found.cause is Cause.PUSH and found.upright):
            return ()
        pushed = {self._bodies[link] for link in found.links if link in self._bodies}
        return tuple(body for body in bodies if body in pushed)

    def patience(self, config: WatchConfig) -> float:
        """Return the time for which a single cause is looked for [s]: longer where it is a load or a push.

        Where that has become doubtful, the patience begins anew: one window must not end the waiting.

        Args:
            config: Times of the watch.
        """
        return config.longest_push if self.found.is_open else self._open_for + config.patience

    def input_of(self, update: FilterUpdate, equation: LinearEquation) -> str:
        """Return the input to check: the one located, or that of the row that deviates most.

        Args:
            update: The outcome of the measurement.
            equation: The measurement.
        """
        if self.found.input:
            return self.found.input
        return most_direct_input(self._names, update.innovation, update.variance, equation.paths)
