"""Changes of loads that have been located: how fast they are handed over, and which loads vary."""

import math
from dataclasses import dataclass, field

import numpy as np

from inertial_estimation.compilation import warm_up
from inertial_estimation.estimators.inertial.filter_values import FilterState, FilterUpdate
from inertial_estimation.estimators.inertial.hand_over import hand_over_distance
from inertial_estimation.estimators.inertial.inertial_filter import InertialFilter
from inertial_estimation.estimators.inertial.load_extrapolation import LoadExtrapolation
from inertial_estimation.models.dynamics_measurement import LinearEquation
from inertial_estimation.signals import Array

HAND_OVERS = 2.0  # times of a hand-over for which published masses may follow a located load fast
FORGETTING = 0.3  # time constant with which what was known of a body whose load varies is forgotten: loads
# that a person or a robot moves vary within tenths of a second [s]
STILL = 3.0  # standard deviations to either side of an estimate in which a mass that keeps still is


@dataclass
class _Varying:
    """A body whose load varies.

    Attributes:
        least: Its least mass since it varies [kg].
        most: Its largest one [kg].
        still: Between which masses all its estimates since the last change agree [kg].
        still_for: Time since the last change [s].
        extrapolation: Makes up for the lag of its estimate.
    """

    least: float
    most: float
    still: tuple[float, float] = (-math.inf, math.inf)
    still_for: float = 0.0
    extrapolation: LoadExtrapolation = field(default_factory=LoadExtrapolation)


class LocatedChanges:
    """Remembers loads that have been located on one body.

    A load that is located on a body on which one has been located shortly before varies: from then on the
    filter admits changes of this body all the time, by forgetting what it knew of it, and follows the load
    without locating it anew, until the mass has kept still; so it does where the weight of a load changes
    while that is on trial.

    Attributes:
        memory: Time within which a second change makes a load one that varies, and for which the filter
            follows one that keeps still [s].
    """

    def __init__(self, filter_: InertialFilter, memory: float) -> None:
        """Begin without a change.

        Args:
            filter_: The filter.
            memory: Time for which changes are remembered [s].
        """
        self.memory = memory
        self._filter = filter_
        warm_up()
        self.reset()

    def reset(self) -> None:
        """Forget all changes."""
        self._size, self._age = 0.0, math.inf
        self._ages: dict[int, float] = {}
        self._located: tuple[int, ...] = ()
        self._varying: dict[int, _Varying] = {}

    def carry_over(self, filter_: InertialFilter) -> None:
        """Go on with a filter that has more bodies, the last ones.

        Args:
            filter_: The filter.
        """
        self._filter = filter_

    @property
    def varying(self) -> tuple[str, ...]:
        """Links of the bodies whose loads vary."""
        return tuple(self._filter.bodies[body].link for body in self._varying)

    @property
    def followed(self) -> tuple[int, ...]:
        """Numbers of the bodies whose loads vary."""
        return tuple(self._varying)

    def advance(self, dt: float) -> None:
        """Let time pass, in which the filter forgets what it knew of bodies whose loads vary.

        Args:
            dt: The time [s].
        """
        self._age += dt
        if self._ages:
            self._ages = {body: age + dt for body, age in self._ages.items() if age + dt < self.memory}
        for body in self._varying:
            self._filter.admit_change(body, -math.expm1(-2.0 * dt / FORGETTING))

    def follow(self, held: FilterState, equation: LinearEquation, limit: float) -> FilterUpdate | None:
        """Learn from suspect data that any change of the loads that vary explains.

        Args:
            held: State of the filter before them.
            equation: The measurement.
            limit: Largest NIS of data that are not suspect.

        Returns:
            The outcome; None if they are explained no better, and nothing has changed.
        """
        if not self._varying:
            return None
        filter_, present = self._filter, self._filter.state
        filter_.restore(held)
        for body in self._varying:
            filter_.admit_change(body)
        if filter_.innovation_of(filter_.state, equation).nis <= limit:
            return filter_.update(equation, 0.0)
        filter_.restore(present)
        return None

    def observe(self, dt: float) -> None:
        """Note which of the loads that vary keep still.

        Args:
            dt: Time since the last call [s].
        """
        if not self._varying:
            return
        pi_C, covariance_C = self._filter.body_parameters()
        for body, load in list(self._varying.items()):
            mass, sigma = float(pi_C[body, 0]), math.sqrt(max(float(covariance_C[body, 0, 0]), 0.0))
            load.still_for += dt
            load.least, load.most = min(load.least, mass), max(load.most, mass)
            low, high = mass - STILL * sigma, mass + STILL * sigma
            load.still = max(load.still[0], low), min(load.still[1], high)
            if load.still[0] > load.still[1]:
                load.still, load.still_for = (low, high), 0.0
            if load.still_for >= self.memory:
                del self._varying[body]

    def locate(self, bodies: tuple[int, ...]) -> None:
        """Note that loads have been located on bodies, and are on trial.

        Args:
            bodies: Numbers of the bodies.
        """
        self._located = bodies
        self._vary(tuple(body for body in bodies if body in self._ages))

    def varies(self, on_trial: tuple[int, ...], varied: tuple[int, ...]) -> bool:
        """Return whether a load that is on trial varies.

        Args:
            on_trial: Numbers of the bodies whose loads are on trial.
            varied: Those of them whose loads are found to vary now.
        """
        self._vary(varied)
        return any(body in self._varying for body in on_trial)

    def _vary(self, bodies: tuple[int, ...]) -> None:
        masses = self._filter.masses_of(self._filter.x).tolist()
        for body in bodies:
            if body not in self._varying:
                self._varying[body] = _Varying(masses[body], masses[body])

    def believe(self, before: Array, now: Array) -> None:
        """Note that a located load is believed.

        Args:
            before: State of the filter before the change.
            now: State with the load.
        """
        filter_ = self._filter
        earlier, present = (filter_.parameters_at(filter_.body_coordinates(x)) for x in (before, now))
        distances = [hand_over_distance(p - e, float(e[0])) for e, p in zip(earlier, present, strict=True)]
        self._size, self._age = max(distances), 0.0
        changed = int(np.argmax(np.abs(present[:, 0] - earlier[:, 0])))
        self._ages.update(dict.fromkeys(self._located or (changed,), 0.0))
        self._located = ()

    def ahead(self, pi_C: Array, dt: float, lead: float) -> Array:
        """Return the parameters that may be published, those of loads that vary as they are by now.

        Args:
            pi_C: As they were estimated, in C, shape (n, 10).
            dt: Time since the last call [s].
            lead: Lag of the estimates [s].
        """
        if not self._varying:
            return pi_C
        ahead: Array = pi_C.copy()
        for body, load in self._varying.items():
            ahead[body] = load.extrapolation.ahead(pi_C[body], dt, lead, load.least, load.most)
        return ahead

    def hand_over_rate(self, slowest: float, time: float, lead: float) -> float:
        """Return the largest rate of change of published masses [kg/s].

        Args:
            slowest: That of a change that need not be a load on one body [kg/s].
            time: In which a load that has been located on one body, or is off again, is handed over [s].
            lead: Lag of the estimates, half of a window, in which a load that varies is caught up with [s].
        """
        rate = max(slowest, self._size / time) if self._age <= HAND_OVERS * time else slowest
        for load in self._varying.values():
            rate = max(rate, (load.most - load.least) / lead)
        return rate
