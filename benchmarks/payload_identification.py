"""An unknown load on the wrist of an arm, identified offline, with known truth.

A synthetic UR10 whose masses (10 %), centres of mass (5 mm) and friction differ from its description carries
nothing in one recording and a load in another one. Printed are the error of the load's mass and of its centre
of mass by

- `link`: the link as a body of the robot, loaded recording alone, less its nominal inertia (no --payload)
- `one recording`: a load of its own (--payload), loaded recording alone
- `two recordings`: a load of its own and the recording without it (--payload, --unloaded)

and the error over its standard deviation (rms over the seeds; 1 where the deviation is honest).

Run: python -m benchmarks.payload_identification [--seeds 8] [--loads 0.2 1.0 2.805 8.0] [--robot NAME]
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.identification.identifier import Identifier
from inertial_estimation.models.robot_config import RobotConfig
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.offline.identification_run import block_stream, run_identification
from inertial_estimation.offline.identification_setup import identification_topics
from inertial_estimation.parameters import build_config
from inertial_estimation.recordings.recording import MemoryRecording
from inertial_estimation.signals import Array
from inertial_estimation.simulation.payload import ball
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.synthetic.synthetic_robots import synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

CONFIG = {
    "floating_base": False,
    "contact_wrenches": "none",
    "friction.joints": ["*"],
    "friction.terms": ["coulomb", "viscous", "offset", "armature"],
}
COULOMB, VISCOUS = 0.03, 0.02  # of the joint's effort limit: Nm and Nm s/rad
DURATION_S = 20.0


@dataclass(frozen=True, eq=False)
class Scene:
    """One robot with one load.

    Attributes:
        urdf: The nominal description.
        link: The link that carries the load.
        mass: Mass of the load [kg].
        com_L: Where it is in the link's frame [m].
        loaded: Recording with the load.
        unloaded: Recording without it.
    """

    urdf: str
    link: str
    mass: float
    com_L: Array
    loaded: MemoryRecording
    unloaded: MemoryRecording


def scene(urdf: str, link: str, mass: float, seed: int) -> Scene:
    rng = np.random.default_rng(seed)
    true = perturbed_urdf(urdf, rng, mass_sigma=0.1, com_sigma=0.005)
    recordings = []
    for time_s in (0.0, None):
        truth = synthetic_truth(
            "arm",
            Timing(duration_s=DURATION_S, rate_hz=250.0, rest_s=0.5),
            rng,
            urdf=true,
            payload_mass=mass,
            payload_time_s=time_s,
            payload_link=link,
        )
        limits = truth.robot.model.effortLimit
        joints = list(truth.robot.joint_names)
        friction = {
            "nominal_friction.joints": joints,
            "nominal_friction.coulomb": (COULOMB * limits).tolist(),
            "nominal_friction.viscous": (VISCOUS * limits).tolist(),
        }
        recordings.append(measure(truth, REALISTIC, rng, build_config(RobotConfig, friction)))
    return Scene(urdf, link, mass, np.array(ball(link, mass, (0.0, 0.0, 0.0)).com_L), *recordings)


def identified(
    one: Scene, method: str, *, payload: bool, unloaded: bool
) -> tuple[float, Array, float, Array]:
    """Return mass, centre of mass and their standard deviations."""
    values = {**CONFIG, **({"payload.link": one.link} if payload else {})}
    config = build_config(IdentificationConfig, values)
    identifier = Identifier(config, one.urdf)
    topics = identification_topics(config, {})
    run = run_identification(
        identifier,
        [block_stream(one.loaded, topics, identifier, config)],
        methods=[method],
        unloaded=[block_stream(one.unloaded, topics, identifier, config)] if unloaded else [],
    )
    load = run.result.payload
    if load is not None:
        return load.inertia.mass, load.inertia.com_F, load.mass_sigma, load.com_sigma
    joint = identifier.robot.link_body(one.link).joint_id
    given = zip(identifier.parameters.bodies, run.result.bodies, strict=True)
    body = next(result for reference, result in given if reference.joint_id == joint)
    rest = InertialParameters.from_vector(body.inertia.vector - body.nominal.vector)
    return rest.mass, rest.com_F, np.nan, np.full(3, np.nan)


def rows(urdf: str, link: str, mass: float, seeds: int) -> Iterator[str]:
    scenes = [scene(urdf, link, mass, seed) for seed in range(seeds)]
    kinds = {
        "link, ridge": ("ridge", False, False),
        "link, consistent": ("consistent", False, False),
        "one recording, consistent": ("consistent", True, False),
        "two recordings, ridge": ("ridge", True, True),
        "two recordings, consistent": ("consistent", True, True),
    }
    for name, (method, payload, unloaded) in kinds.items():
        found = [identified(one, method, payload=payload, unloaded=unloaded) for one in scenes]
        masses, coms = (np.array([values[i] for values in found]) for i in (0, 1))
        mass_sigma, com_sigma = (np.array([values[i] for values in found]) for i in (2, 3))
        error, com_error = masses - mass, coms - scenes[0].com_L
        worst = np.abs(error).max()
        scores = [np.sqrt(np.mean((e / s) ** 2)) for e, s in ((error, mass_sigma), (com_error, com_sigma))]
        yield (
            f"{mass:7.3f}  {name:<27} {error.mean():+9.4f} {np.sqrt(np.mean(error**2)):9.4f} {worst:9.4f} "
            f"{1000 * np.sqrt(np.mean(com_error**2)):9.2f} {mass_sigma.mean():9.4f} "
            f"{scores[0]:8.2f} {scores[1]:8.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", default="ur10_joint_limited_robot", help="name of example-robot-data")
    parser.add_argument("--link", default="wrist_3_link", help="link that carries the load (wrist_3_link)")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.2, 1.0, 2.805, 8.0], metavar="KG")
    parser.add_argument("--seeds", type=int, default=8)
    args = parser.parse_args()
    urdf = read_urdf(f"example-robot-data:{args.robot}")
    print(f"{'':36}{'error of the mass [kg]':>28} {'CoM [mm]':>9} {'sigma':>9} {'error / sigma':>17}")
    columns = ("mean", "rms", "worst", "rms", "[kg]")
    print(f"{'load [kg]':36}" + " ".join(f"{name:>9}" for name in columns) + f" {'mass':>8} {'CoM':>8}")
    for mass in args.loads:
        for row in rows(urdf, args.link, mass, args.seeds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
