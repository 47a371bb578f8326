"""Trials of an experiment: its seeds, and what runs a function for each of them."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.parallel import Call, Workers

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the experiment that is done, 0 to 1."""

ResultT = TypeVar("ResultT")
CaseT = TypeVar("CaseT", bound=Hashable)


def silent(_what: str, _share: float) -> None:
    """Show no progress."""


class Trials:
    """Runs the trials of an experiment, on other processes or machines where there are some.

    Attributes:
        seeds: Seeds of the random numbers.
        quick: Whether this is a shortened run, which exercises all code but has no significant results.
        progress: Called with what is being done and the share of the experiment that is done.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        *,
        quick: bool = False,
        workers: Workers | None = None,
        progress: Progress = silent,
    ) -> None:
        """Choose seeds, of which a quick run takes the first alone, and workers; None is this process.

        Raises:
            ConfigurationError: If there is no seed.
        """
        if not seeds:
            raise ConfigurationError("an experiment got no seeds, expected at least one")
        self.seeds = tuple(seeds[:1] if quick else seeds)
        self.quick = quick
        self.progress = progress
        self._workers = workers or Workers()

    def results(self, calls: Sequence[Call[ResultT]], *, begin: float = 0.0) -> list[ResultT]:
        """Return what independent trials return, in their order.

        They share nothing that one of them changes; a share of the experiment is done before they begin.
        """

        def done(count: int) -> None:
            self.progress(f"{count} of {len(calls)} runs", begin + (1.0 - begin) * count / len(calls))

        done(0)
        return self._workers.results(calls, done)

    def by_seed(self, function: Callable[[int], ResultT], *, begin: float = 0.0) -> list[ResultT]:
        """Return what a function returns for every seed."""
        return self.results([partial(function, seed) for seed in self.seeds], begin=begin)

    def by_case(
        self, cases: Mapping[CaseT, Callable[[int], ResultT]], first_seed_only: Collection[CaseT] = ()
    ) -> dict[CaseT, list[ResultT]]:
        """Call the function of every case with every seed, or of some cases with the first seed only.

        Returns:
            What they return, for each case in the order of the seeds.
        """
        calls = {
            case: [
                partial(function, seed)
                for seed in (self.seeds[:1] if case in first_seed_only else self.seeds)
            ]
            for case, function in cases.items()
        }
        found = iter(self.results([call for of_case in calls.values() for call in of_case]))
        return {case: list(islice(found, len(of_case))) for case, of_case in calls.items()}
