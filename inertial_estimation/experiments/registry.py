"""The experiments by name; the module of one is imported only when it is run."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inertial_estimation.errors import ConfigurationError, MissingDependencyError, did_you_mean
from inertial_estimation.experiments.experiment import Experiment, Progress, Trials, silent
from inertial_estimation.experiments.experiment_result import ExperimentResult
from inertial_estimation.parallel import Workers

PACKAGE = "inertial_estimation.experiments"
ALL = "all"  # in place of a name: every experiment


@dataclass(frozen=True, slots=True)
class RegisteredExperiment:
    """An experiment that can be run; its module and what that needs are imported only then.

    Attributes:
        name: Name on the command line.
        source: Where it comes from ("Foster et al., Fig. 3").
        summary: What it does, in one line.
        implementation: Full name of the module, and the subclass of `Experiment` in it: "module:Class".
        seeds: Number of seeds by default.
    """

    name: str
    source: str
    summary: str
    implementation: str
    seeds: int = 1

    @property
    def module(self) -> str:
        """Full name of the module."""
        return self.implementation.partition(":")[0]

    def load(self) -> type[Experiment[Any]]:
        """Import the module and return the class.

        Raises:
            MissingDependencyError: If a package is not installed; says how to get it.
        """
        try:
            module = importlib.import_module(self.module)
        except ModuleNotFoundError as error:
            raise self._missing(error) from error
        loaded: type[Experiment[Any]] = getattr(module, self.implementation.partition(":")[2])
        return loaded

    def run(
        self,
        seeds: Sequence[int],
        progress: Progress = silent,
        *,
        quick: bool = False,
        workers: Workers | None = None,
    ) -> ExperimentResult:
        """Run it.

        Args:
            seeds: Seeds of the random numbers, at least one.
            progress: Called with what is being done and the share that is done.
            quick: Run a shortened version that exercises all code but has no significant results.
            workers: What runs the trials; None is this process. Results do not depend on it.

        Raises:
            ConfigurationError: If there is no seed.
            MissingDependencyError: If a package is not installed; says how to get it.
        """
        if not seeds:
            raise ConfigurationError(f"the experiment '{self.name}' got no seeds, expected at least one")
        experiment = self.load()(seeds, quick=quick)
        try:
            return experiment.run(Trials(workers, progress))
        except ModuleNotFoundError as error:  # packages that are imported where they are used
            raise self._missing(error) from error

    def _missing(self, error: ModuleNotFoundError) -> MissingDependencyError:
        missing = error.name or ""
        if missing.startswith("inertial_estimation"):
            return MissingDependencyError(f"this installation lacks {missing}")
        return MissingDependencyError(
            f"the experiment '{self.name}' needs the Python package '{missing}'; "
            "pip install 'inertial_estimation[standalone,sim,tools]' has all of them"
        )


EXPERIMENTS: tuple[RegisteredExperiment, ...] = (
    RegisteredExperiment(
        name="foster-consistency",
        source="Foster et al., Fig. 3",
        summary="torso while walking forward: linear KF against EKF, inconsistent samples",
        implementation=f"{PACKAGE}.foster_consistency:FosterConsistency",
        seeds=3,
    ),
    RegisteredExperiment(
        name="foster-pelvis",
        source="Foster et al., Tables I and II, Fig. 4",
        summary="pelvis height on rough ground while the torso's mass varies, with and without adaptation",
        implementation=f"{PACKAGE}.foster_pelvis:FosterPelvis",
        seeds=3,
    ),
    RegisteredExperiment(
        name="foster-elbow",
        source="Foster et al., Tables I and II, Fig. 5",
        summary="elbow pose while the forearm's mass varies, with and without adaptation",
        implementation=f"{PACKAGE}.foster_elbow:FosterElbow",
        seeds=3,
    ),
    RegisteredExperiment(
        name="foster-curl",
        source="Foster et al., Fig. 6 and 7",
        summary="curls with 12 lb by a robot unlike its description, startup calibration, hand-over",
        implementation=f"{PACKAGE}.foster_curl:FosterCurl",
        seeds=5,
    ),
    RegisteredExperiment(
        name="foster-gating",
        source="Foster et al., Fig. 8",
        summary="torso mass while stepping in place, with and without the innovation gate",
        implementation=f"{PACKAGE}.foster_gating:FosterGating",
        seeds=3,
    ),
    RegisteredExperiment(
        name="benallegue-push",
        source="Benallegue et al., V-A, Fig. 3 and 4",
        summary="tilt of a biped that is pushed, then pushed over: three observers and VQF",
        implementation=f"{PACKAGE}.benallegue_push:BenalleguePush",
        seeds=20,
    ),
    RegisteredExperiment(
        name="benallegue-loop",
        source="Benallegue et al., V-B, Fig. 5 to 7",
        summary="TALOS balanced by the observer in the loop: leans its chest, walks forward",
        implementation=f"{PACKAGE}.benallegue_loop:BenallegueLoop",
        seeds=10,
    ),
    RegisteredExperiment(
        name="yamane-dynamic",
        source="Yamane, III-E, Table I and Fig. 5",
        summary="masses and centres of mass of TALOS moving its arms: least squares against bounded gradient",
        implementation=f"{PACKAGE}.yamane_dynamic:YamaneDynamic",
        seeds=3,
    ),
    RegisteredExperiment(
        name="tournois-leg",
        source="Tournois et al., IV-A, Table I and Fig. 4",
        summary="ten parameters of each link of HyQ's leg, trunk held, from random sines",
        implementation=f"{PACKAGE}.tournois_leg:TournoisLeg",
        seeds=5,
    ),
    RegisteredExperiment(
        name="tournois-com",
        source="Tournois et al., V-A, Table II and Fig. 6",
        summary="HyQ stands with a load: centre of mass of its trunk by three approaches, mass, convergence",
        implementation=f"{PACKAGE}.tournois_com:TournoisCom",
        seeds=3,
    ),
    RegisteredExperiment(
        name="tournois-slope",
        source="Tournois et al., V-A, Table III",
        summary="centre of mass of HyQ's trunk from contact forces, standing on ramps",
        implementation=f"{PACKAGE}.tournois_slope:TournoisSlope",
        seeds=2,
    ),
    RegisteredExperiment(
        name="tournois-sensitivity",
        source="Tournois et al., V-B, Table IV",
        summary="torque offsets and misplaced feet: what they do to the centre of mass of HyQ's trunk",
        implementation=f"{PACKAGE}.tournois_sensitivity:TournoisSensitivity",
        seeds=2,
    ),
    RegisteredExperiment(
        name="tournois-walk",
        source="Tournois et al., V-C, Table V",
        summary="HyQ crawls, a load is put on it: stops, identifies the trunk, walks on, or falls",
        implementation=f"{PACKAGE}.tournois_walk:TournoisWalk",
        seeds=10,
    ),
    RegisteredExperiment(
        name="tournois-stones",
        source="Tournois et al., V-C (stepping stones)",
        summary="HyQ crawls over stones of random heights under a load, with and without identification",
        implementation=f"{PACKAGE}.tournois_stones:TournoisStones",
        seeds=3,
    ),
    RegisteredExperiment(
        name="trunk-ekf-walk",
        source="Tournois et al., VI (future work)",
        summary="the same walk without stopping: the inertial filter learns the load while HyQ crawls",
        implementation=f"{PACKAGE}.trunk_ekf_walk:TrunkEkfWalk",
        seeds=10,
    ),
    RegisteredExperiment(
        name="yamane-kinematic",
        source="Yamane, II, Fig. 2 and 4",
        summary="offsets of 14 joints from IMU orientations and flat feet: error, cost and time by interval",
        implementation=f"{PACKAGE}.yamane_kinematic:YamaneKinematic",
        seeds=3,
    ),
    RegisteredExperiment(
        name="syde-design",
        source="SYDE 652",
        summary="poses and motions of a humanoid's arm chosen by their information; noise and delay",
        implementation=f"{PACKAGE}.syde_design:SydeDesign",
        seeds=3,
    ),
    RegisteredExperiment(
        name="which-link",
        source="Foster et al., V (future work)",
        summary="a moving humanoid is loaded and pushed on random links: which link, a load or a push",
        implementation=f"{PACKAGE}.which_link:WhichLink",
        seeds=20,
    ),
)


def find_experiment(name: str) -> RegisteredExperiment:
    """Return an experiment by its name.

    Raises:
        ConfigurationError: If there is none; lists those that exist.
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = [*(experiment.name for experiment in EXPERIMENTS), ALL]
    raise ConfigurationError(f"no experiment '{name}'{did_you_mean(name, known, 'there are', limit=60)}")
