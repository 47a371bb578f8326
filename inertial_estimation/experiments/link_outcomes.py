"""What the filter found of one load or push on a link, in the trials of the locator."""

from dataclasses import dataclass

import numpy as np

from inertial_estimation.experiments.link_trials import LinkTrial
from inertial_estimation.located_cause import Cause
from inertial_estimation.signals import Array
from inertial_estimation.simulation.disturbances import Push

ON_S = 1.5  # when a load or a push begins
HEAD = "head_"  # beginning of the links of the head of TALOS, which is no limb
PAST_S = 0.4  # after its end, for which a published mass counts as moved by it


def strength(force: Array) -> float:
    """Return the magnitude of a force [N]."""
    return float(np.sqrt(force @ force))


@dataclass(frozen=True, eq=False)
class LoadedLink:
    """A load on a link and what was found.

    Attributes:
        link: The link.
        mass: The load [kg].
        trial: The run.
    """

    link: str
    mass: float
    trial: LinkTrial

    @property
    def on_head(self) -> bool:
        """Whether the link is one of the head, whose two bodies are hard to tell apart."""
        return self.link.startswith(HEAD)

    @property
    def delay(self) -> float:
        """Time until a load was reported [s]; infinite if it never was."""
        found = self.trial.found(Cause.LOAD, ON_S)
        return found[0][0] - ON_S if found else np.inf

    def named(self, place: int | None, within_s: float) -> bool:
        """Return whether the link was among the first so many links named within a time."""
        return self.link in self.links_within(within_s)[:place]

    def links_within(self, within_s: float) -> tuple[str, ...]:
        """Return the links named last within a time, the most probable first; empty before any is named."""
        found = [c for t, c in self.trial.found(Cause.LOAD, ON_S) if t <= ON_S + within_s]
        return found[-1].links if found else ()

    @property
    def mass_error(self) -> float:
        """Relative error of the located mass when it was seen last; not a number if it never was."""
        found = self.trial.found(Cause.LOAD, ON_S)
        return abs(found[-1][1].mass / self.mass - 1.0) if found else np.nan


@dataclass(frozen=True, eq=False)
class PushedLink:
    """A push and what was found.

    Attributes:
        push: The push.
        trial: The run.
        without: The same readings without the push, learning paused while it would be in them; None if
            there is no such run.
    """

    push: Push
    trial: LinkTrial
    without: LinkTrial | None = None

    @property
    def as_load(self) -> bool:
        """Whether it was taken for a load."""
        return any(cause.decided for _t, cause in self.trial.found(Cause.LOAD, ON_S - 0.1))

    @property
    def found(self) -> bool:
        """Whether its link was among those named, most of the time."""
        named = [self.push.link in c.links for _t, c in self.trial.found(Cause.PUSH, ON_S)]
        return bool(named) and sum(named) > 0.5 * len(named)

    @property
    def force_error(self) -> float:
        """Relative error of the median force; not a number if no push was found."""
        inside = (ON_S + 0.1, ON_S + self.push.duration)
        forces = [
            strength(c.force_L)
            for t, c in self.trial.found(Cause.PUSH, ON_S)
            if c.force_L is not None and inside[0] <= t <= inside[1]
        ]
        true = strength(np.asarray(self.push.force))
        return abs(float(np.median(forces)) / true - 1.0) if forces else np.nan

    @property
    def moved(self) -> float:
        """Largest relative change of a published mass until what was averaged with the push is past."""
        return self.trial.moved(*self._watched)

    @property
    def moved_without(self) -> float:
        """The same change over the same times without the push; not a number without such a run."""
        return np.nan if self.without is None else self.without.moved(*self._watched)

    @property
    def taught(self) -> float:
        """Largest relative difference of a published mass from the run without the push.

        It is looked at while the push lasts, and once more at the end: in between the masses are held until
        the data have proved good, and those that still converge differ by that delay.
        """
        if self.without is None:
            return np.nan
        n = min(len(self.trial.times), len(self.without.times))
        off = np.abs(self.trial.published[:n] / self.without.published[:n] - 1.0).max(axis=1)
        begin, times = ON_S - 0.1, self.trial.times[:n]
        during = off[(times >= begin) & (times <= ON_S + self.push.duration)]
        return float(max(during.max(), off[-1]))

    @property
    def _watched(self) -> tuple[float, float]:
        return ON_S - 0.1, ON_S + self.push.duration + PAST_S
