"""What an experiment is: it simulates, and makes table and figure of what the simulation gave."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import islice
from typing import ClassVar, Generic, TypeVar

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.experiments.experiment_result import ExperimentResult, TableRow
from inertial_estimation.experiments.figure_description import Panel
from inertial_estimation.parallel import Call, Workers

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the experiment that is done, 0 to 1."""

Data = TypeVar("Data")
ResultT = TypeVar("ResultT")
CaseT = TypeVar("CaseT", bound=Hashable)


def silent(_what: str, _share: float) -> None:
    """Show no progress."""


class Trials:
    """Runs the trials of an experiment, on other processes or machines where there are some.

    Attributes:
        progress: Called with what is being done and the share of the experiment that is done.
    """

    def __init__(self, workers: Workers | None = None, progress: Progress = silent) -> None:
        """Choose where trials run.

        Args:
            workers: What runs them; None is this process.
            progress: Called with what is being done and the share of the experiment that is done.
        """
        self.progress = progress
        self._workers = workers or Workers()

    def results(self, calls: Sequence[Call[ResultT]], *, begin: float = 0.0) -> list[ResultT]:
        """Run independent trials, each of which gets its seed.

        Args:
            calls: The trials, which share nothing that one of them changes.
            begin: Share of the experiment that is done before them.

        Returns:
            What they return, in their order.
        """

        def done(count: int) -> None:
            self.progress(f"{count} of {len(calls)} runs", begin + (1.0 - begin) * count / len(calls))

        done(0)
        return self._workers.results(calls, done)

    def by_case(self, calls: Mapping[CaseT, Sequence[Call[ResultT]]]) -> dict[CaseT, list[ResultT]]:
        """Run the independent trials of several cases, as `results` does.

        Args:
            calls: The trials of each case.

        Returns:
            What they return, for each case in the order of its trials.
        """
        found = iter(self.results([call for trials in calls.values() for call in trials]))
        return {case: list(islice(found, len(trials))) for case, trials in calls.items()}


class Experiment(ABC, Generic[Data]):
    """One table or figure of a paper, repeated here.

    A subclass runs the experiment in `simulate` and evaluates its data in the other methods. Its name,
    source and default number of seeds are in `registry`, so that listing the experiments loads none of them.

    Attributes:
        figure_columns: Columns of panels in the figure.
        quick_seeds: Most seeds that a quick run uses; None for all it is given.
        seeds: Seeds that are used.
        quick: Whether this is a shortened run, which exercises all code but has no significant results.
    """

    figure_columns: ClassVar[int] = 1
    quick_seeds: ClassVar[int | None] = None

    def __init__(self, seeds: Sequence[int], *, quick: bool = False) -> None:
        """Choose the seeds.

        Args:
            seeds: Seeds of the random numbers, at least one.
            quick: Whether to run a shortened version.

        Raises:
            ConfigurationError: If there is no seed.
        """
        if not seeds:
            raise ConfigurationError("an experiment got no seeds, expected at least one")
        self.seeds = tuple(seeds[: self.quick_seeds] if quick else seeds)
        self.quick = quick

    @abstractmethod
    def simulate(self, trials: Trials) -> Data:
        """Run what the experiment runs, for every seed.

        Args:
            trials: Runs independent trials and shows progress.

        Returns:
            The data that table and figure are made of.
        """

    @abstractmethod
    def table(self, data: Data) -> Sequence[TableRow]:
        """Return the table, with the paper's numbers and the bounds."""

    @abstractmethod
    def panels(self, data: Data) -> Sequence[Panel]:
        """Return what the figure shows, row by row; empty for no figure."""

    def per_seed(self, data: Data) -> Mapping[str, tuple[float, ...]]:
        """Return quantities by name, one value for each seed."""
        return {}

    def settings(self, data: Data) -> Mapping[str, float | str]:
        """Return the settings of the experiment by name."""
        return {}

    def facts(self, data: Data) -> Sequence[str]:
        """Return the facts needed to interpret the table, one sentence each, including unfavourable ones."""
        return ()

    def caveat(self, data: Data) -> str:
        """Return the main reservation about the verdict on the bounds, in one line; empty for none."""
        return ""

    def run(self, trials: Trials) -> ExperimentResult:
        """Simulate, and collect everything that is made of the data.

        Args:
            trials: Runs independent trials and shows progress.
        """
        data = self.simulate(trials)
        trials.progress("done", 1.0)
        return ExperimentResult(
            seeds=self.seeds,
            rows=tuple(self.table(data)),
            per_seed=self.per_seed(data),
            settings=self.settings(data),
            facts=tuple(self.facts(data)),
            caveat=self.caveat(data),
            panels=tuple(self.panels(data)),
            columns=self.figure_columns,
        )
