"""The experiments there are; a module is imported only when its experiment is run."""

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "find_experiment"]

PACKAGE = "inertial_estimation.experiments"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="benallegue-push",
        source="Benallegue et al., V-A, Fig. 3 and 4",
        summary="tilt of a biped that is pushed, then pushed over: three observers and VQF",
        module=f"{PACKAGE}.benallegue_push",
        seeds=20,
    ),
)


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Raises:
        ConfigurationError: If there is none; lists those that exist.
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = listing(experiment.name for experiment in EXPERIMENTS)
    raise ConfigurationError(f"no experiment '{name}'; there are {known}, and 'all'")
