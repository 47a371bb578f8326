"""The experiments by name; the module of one is imported only when it is run."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inertial_estimation.errors import ConfigurationError, MissingDependencyError, did_you_mean
from inertial_estimation.experiments.result import ExperimentResult, Progress, Trials, silent
from inertial_estimation.parallel import Workers

PACKAGE = "inertial_estimation.experiments"
ALL = "all"  # in place of a name: every experiment


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of a paper; its module is imported only when the experiment is run."""

    name: str  # name on the command line
    source: str  # table or figure, such as "Foster et al., Fig. 3"
    summary: str  # description in one line
    implementation: str  # "module:function"; takes `Trials`, returns an `ExperimentResult`
    seeds: int = 1  # default number of seeds

    def load(self) -> Callable[[Trials], ExperimentResult]:
        """Import the module and return the function."""
        module, _, name = self.implementation.partition(":")
        function: Callable[[Trials], ExperimentResult] = getattr(importlib.import_module(module), name)
        return function

    def run(
        self,
        seeds: Sequence[int],
        progress: Progress = silent,
        *,
        quick: bool = False,
        workers: Workers | None = None,
    ) -> ExperimentResult:
        """Run the experiment on `Trials` of these arguments.

        Raises:
            ConfigurationError: If there is no seed.
            MissingDependencyError: If a package is not installed; the message tells how to install it.
        """
        trials = Trials(seeds, quick=quick, workers=workers, progress=progress)
        try:
            result = self.load()(trials)
        except ModuleNotFoundError as error:
            raise MissingDependencyError(
                f"the experiment '{self.name}' needs the Python package '{error.name}'; "
                "pip install 'inertial_estimation[standalone,sim,tools,robots]' has all of them"
            ) from error
        progress("done", 1.0)
        return result


TABLE = """\
foster-consistency | foster_torso:consistency | 3 | Foster et al., Fig. 3
    torso while walking forward: linear KF against EKF, inconsistent samples
foster-pelvis | foster_torso:pelvis | 3 | Foster et al., Tables I and II, Fig. 4
    pelvis height on rough ground while the torso's mass varies, with and without adaptation
foster-elbow | foster_arm:elbow | 3 | Foster et al., Tables I and II, Fig. 5
    elbow pose while the forearm's mass varies, with and without adaptation
foster-curl | foster_arm:curl | 5 | Foster et al., Fig. 6 and 7
    curls with 12 lb by a robot unlike its description, startup calibration, hand-over
foster-gating | foster_torso:gating | 3 | Foster et al., Fig. 8
    torso mass while stepping in place, with and without the innovation gate
benallegue-push | benallegue_push:run | 20 | Benallegue et al., V-A, Fig. 3 and 4
    tilt of a biped that is pushed, then pushed over: three observers and VQF
benallegue-loop | benallegue_loop:run | 10 | Benallegue et al., V-B, Fig. 5 to 7
    TALOS balanced by the observer in the loop: leans its chest, walks forward
yamane-dynamic | yamane_dynamic:run | 3 | Yamane, III-E, Table I and Fig. 5
    masses and centres of mass of TALOS moving its arms: least squares against bounded gradient
tournois-leg | tournois_leg:run | 5 | Tournois et al., IV-A, Table I and Fig. 4
    ten parameters of each link of HyQ's leg, trunk held, from random sines
tournois-com | tournois_standing:approaches | 3 | Tournois et al., V-A, Table II and Fig. 6
    HyQ stands with a load: centre of mass of its trunk by three approaches, mass, convergence
tournois-slope | tournois_standing:slopes | 2 | Tournois et al., V-A, Table III
    centre of mass of HyQ's trunk from contact forces, standing on ramps
tournois-sensitivity | tournois_standing:sensitivity | 2 | Tournois et al., V-B, Table IV
    torque offsets and misplaced feet: what they do to the centre of mass of HyQ's trunk
tournois-walk | tournois_walk:walk | 10 | Tournois et al., V-C, Table V
    HyQ crawls, a load is put on it: stops, identifies the trunk, walks on, or falls
trunk-ekf-walk | tournois_walk:without_stopping | 10 | Tournois et al., VI (future work)
    the same walk without stopping: the inertial filter learns the load while HyQ crawls
yamane-kinematic | yamane_kinematic:run | 3 | Yamane, II, Fig. 2 and 4
    offsets of 14 joints from IMU orientations and flat feet: error, cost and time by interval
syde-design | syde_design:run | 3 | SYDE 652
    poses and motions of a humanoid's arm chosen by their information; noise and delay
"""
"""Name, module and function, number of seeds, source; summary."""


def _experiments(table: str) -> Iterator[Experiment]:
    lines = table.splitlines()
    for entry, summary in zip(lines[::2], lines[1::2], strict=True):
        name, function, seeds, source = (part.strip() for part in entry.split("|"))
        yield Experiment(name, source, summary.strip(), f"{PACKAGE}.{function}", int(seeds))


EXPERIMENTS = tuple(_experiments(TABLE))


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Raises:
        ConfigurationError: If there is no such experiment; the message lists those that exist.
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = [*(experiment.name for experiment in EXPERIMENTS), ALL]
    raise ConfigurationError(f"no experiment '{name}'{did_you_mean(name, known, 'there are', limit=60)}")
