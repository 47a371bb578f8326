"""The inquiry into the cause of suspect data: the locator, fed with what contradicts the held state."""

from collections.abc import Mapping

import numpy as np

from inertial_estimation.estimators.inertial.inertial_filter import (
    FilterState,
    FilterUpdate,
    InertialFilter,
    Innovation,
)
from inertial_estimation.estimators.inertial.input_causes import InputNames, most_direct_input
from inertial_estimation.estimators.inertial.load_locator import LoadLocator
from inertial_estimation.estimators.inertial.watch_config import WatchConfig
from inertial_estimation.located_cause import Cause, LocatedCause
from inertial_estimation.models.dynamics_measurement import LinearEquation

__all__ = ["CauseInquiry"]


class CauseInquiry:
    """Asks the locator for the cause of innovations, and which estimated body a load belongs to.

    Attributes:
        found: What it has found; nothing before the first suspect data.
        locator: Accumulates the evidence.
    """

    def __init__(self, locator: LoadLocator, names: InputNames, bodies: Mapping[str, int]) -> None:
        """Begin without data.

        Args:
            locator: Accumulates the evidence.
            names: Names of the inputs.
            bodies: Number of the estimated body by the link of the candidate, of those that are estimated.
        """
        self.locator = locator
        self.found = LocatedCause.nothing()
        self._names = names
        self._bodies = dict(bodies)

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
        found = self.found
        elsewhere = found.decided and found.cause is Cause.LOAD and self.body is None
        return found.links[0] if elsewhere else ""

    def end(self) -> None:
        """Forget what was found: the data agree."""
        self.found = LocatedCause.nothing()

    def feed(self, innovation: Innovation, equation: LinearEquation, dt: float) -> None:
        """Add an innovation of the held state.

        Args:
            innovation: What contradicts it.
            equation: The measurement.
            dt: Time since the last one [s].
        """
        if self.locator.feed(innovation, equation, dt):
            self.found = self.locator.located()

    @property
    def certain(self) -> LocatedCause | None:
        """What has been found, once it is certain, or a load that may be a push; None otherwise."""
        return self.found if self.found.decided or self.found.is_open else None

    @property
    def body(self) -> int | None:
        """Number of the estimated body that a load has been located on; None where there is none.

        Of links that the data hardly tell apart the most probable one that is estimated counts.
        """
        if not (self.found.decided and self.found.cause is Cause.LOAD):
            return None
        return next((self._bodies[link] for link in self.found.links if link in self._bodies), None)

    @property
    def keeps_parameters(self) -> bool:
        """Whether the cause leaves the estimated bodies as they are: a push, a fault, a load elsewhere."""
        found = self.found
        return found.decided and (found.cause in (Cause.PUSH, Cause.FAULT) or self.body is None)

    def patience(self, config: WatchConfig) -> float:
        """Return the time for which a single cause is looked for [s]: longer where it is a load or a push.

        Args:
            config: Times of the watch.
        """
        return config.longest_push if self.found.is_open else config.patience

    def input_of(self, update: FilterUpdate, equation: LinearEquation) -> str:
        """Return the input to check: the one located, or that of the row that deviates most.

        Args:
            update: The outcome of the measurement.
            equation: The measurement.
        """
        if self.found.input:
            return self.found.input
        return most_direct_input(self._names, update.innovation, update.variance, equation.paths)
