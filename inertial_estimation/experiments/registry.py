"""The experiments there are; a module is imported only when its experiment is run."""

from inertial_estimation.errors import ConfigurationError, listing
from inertial_estimation.experiments.experiment import Experiment

__all__ = ["EXPERIMENTS", "find_experiment"]

PACKAGE = "inertial_estimation.experiments"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="foster-consistency",
        source="Foster et al., Fig. 3",
        summary="torso while walking forward: linear KF against EKF, inconsistent samples",
        module=f"{PACKAGE}.foster_consistency",
        seeds=3,
    ),
    Experiment(
        name="foster-pelvis",
        source="Foster et al., Tables I and II, Fig. 4",
        summary="pelvis height on rough ground while the torso's mass varies, with and without adaptation",
        module=f"{PACKAGE}.foster_pelvis",
        seeds=3,
    ),
    Experiment(
        name="foster-elbow",
        source="Foster et al., Tables I and II, Fig. 5",
        summary="elbow pose while the forearm's mass varies, with and without adaptation",
        module=f"{PACKAGE}.foster_elbow",
        seeds=3,
    ),
    Experiment(
        name="foster-curl",
        source="Foster et al., Fig. 6 and 7",
        summary="curls with 12 lb by a robot unlike its description, startup calibration, hand-over",
        module=f"{PACKAGE}.foster_curl",
        seeds=5,
    ),
    Experiment(
        name="foster-gating",
        source="Foster et al., Fig. 8",
        summary="torso mass while stepping in place, with and without the innovation gate",
        module=f"{PACKAGE}.foster_gating",
        seeds=3,
    ),
    Experiment(
        name="benallegue-push",
        source="Benallegue et al., V-A, Fig. 3 and 4",
        summary="tilt of a biped that is pushed, then pushed over: three observers and VQF",
        module=f"{PACKAGE}.benallegue_push",
        seeds=20,
    ),
    Experiment(
        name="benallegue-loop",
        source="Benallegue et al., V-B, Fig. 5 to 7",
        summary="TALOS balanced by the observer in the loop: leans its chest, walks forward",
        module=f"{PACKAGE}.benallegue_loop",
        seeds=10,
    ),
    Experiment(
        name="yamane-dynamic",
        source="Yamane, III-E, Table I and Fig. 5",
        summary="masses and centres of mass of TALOS moving its arms: least squares against bounded gradient",
        module=f"{PACKAGE}.yamane_dynamic",
        seeds=3,
    ),
    Experiment(
        name="tournois-leg",
        source="Tournois et al., IV-A, Table I and Fig. 4",
        summary="ten parameters of each link of HyQ's leg, trunk held, from random sines",
        module=f"{PACKAGE}.tournois_leg",
        seeds=5,
    ),
    Experiment(
        name="tournois-com",
        source="Tournois et al., V-A, Table II and Fig. 6",
        summary="HyQ stands with a load: centre of mass of its trunk by three approaches, mass, convergence",
        module=f"{PACKAGE}.tournois_com",
        seeds=3,
    ),
    Experiment(
        name="tournois-slope",
        source="Tournois et al., V-A, Table III",
        summary="centre of mass of HyQ's trunk from contact forces, standing on ramps",
        module=f"{PACKAGE}.tournois_slope",
        seeds=2,
    ),
    Experiment(
        name="tournois-sensitivity",
        source="Tournois et al., V-B, Table IV",
        summary="torque offsets and misplaced feet: what they do to the centre of mass of HyQ's trunk",
        module=f"{PACKAGE}.tournois_sensitivity",
        seeds=2,
    ),
    Experiment(
        name="tournois-walk",
        source="Tournois et al., V-C, Table V",
        summary="HyQ crawls, a load is put on it: stops, identifies the trunk, walks on, or falls",
        module=f"{PACKAGE}.tournois_walk",
        seeds=10,
    ),
    Experiment(
        name="trunk-ekf-walk",
        source="Tournois et al., VI (future work)",
        summary="the same walk without stopping: the inertial filter learns the load while HyQ crawls",
        module=f"{PACKAGE}.trunk_ekf_walk",
        seeds=10,
    ),
    Experiment(
        name="yamane-kinematic",
        source="Yamane, II, Fig. 2 and 4",
        summary="offsets of 14 joints from IMU orientations and flat feet: error, cost and time by interval",
        module=f"{PACKAGE}.yamane_kinematic",
        seeds=3,
    ),
    Experiment(
        name="syde-design",
        source="SYDE 652",
        summary="poses and motions of a humanoid's arm chosen by their information; noise and delay",
        module=f"{PACKAGE}.syde_design",
        seeds=3,
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
