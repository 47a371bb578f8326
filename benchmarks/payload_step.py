"""A 12 lb weight handed to a forearm: how fast and how well the inertial filter finds it.

Synthetic TALOS in double support with realistic sensor noise, config/talos.yaml as it is, gate on; the
weight is attached at 5 s. Prints, over seeds, when the mass of the forearm enters 5 % of the truth for
good: the filter's estimate, and what is published through the hand-over. Times are given twice: by the stamp
of an estimate, which is the middle of its window, and causally, by the newest reading that was needed. Run:
python benchmarks/payload_step.py [--filter linear] [--mass-sigma 0.03 --com-sigma 0.003]
"""

import argparse

import numpy as np

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_names import INERTIAL_NODE
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial.filters import FILTERS
from inertial_estimation.estimators.inertial.inertial_pipeline import InertialPipeline
from inertial_estimation.models.urdf_inertia import perturbed_urdf
from inertial_estimation.recordings.recording import MemoryRecording
from inertial_estimation.signals import ImuSample, JointReading
from inertial_estimation.simulation.payload import TWELVE_POUNDS
from inertial_estimation.simulation.sensor_noise_config import REALISTIC
from inertial_estimation.synthetic.synthetic_robots import synthetic_robot, synthetic_truth
from inertial_estimation.synthetic.synthetic_sensors import measure
from inertial_estimation.synthetic.synthetic_truth import Timing

LINK = "arm_left_5_link"
ATTACHED_S = 5.0


def settled_after(times: np.ndarray, masses: np.ndarray, truth: float) -> float:
    """Time after the attachment from which the mass stays within 5 % of the truth [s]."""
    outside = np.abs(masses / truth - 1.0) > 0.05
    last = np.flatnonzero(outside)[-1]
    return float("inf") if last + 1 == len(times) else float(times[last + 1] - ATTACHED_S)


def estimates(
    recording: MemoryRecording, pipeline: InertialPipeline, origin_ns: int
) -> list[tuple[float, float, float, float]]:
    """Return stamp, causal time [s], estimated and published mass of every estimate."""
    index = pipeline.config.links.index(LINK)
    found = []
    for entry in recording.entries(recording.topics):
        match entry.sample:
            case ImuSample():
                pipeline.push_imu(entry.sample)
            case JointReading():
                pipeline.push_joints(entry.sample)
            case _ if entry.topic.endswith("/wrench"):
                pipeline.push_wrench(entry.topic.split("/")[1], entry.sample)
        for estimate in pipeline.tick(entry.log_ns):
            link = estimate.links[index]
            stamps = [1e-9 * (stamp - origin_ns) for stamp in (estimate.stamp_ns, entry.log_ns)]
            found.append((*stamps, link.estimate.mass, link.published.mass))
    return found


def one_seed(seed: int, args: argparse.Namespace) -> tuple[float, ...]:
    """Return when estimate and published mass settle, by stamp and causally [s], and the error at the end."""
    motion, noise = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    file = load_config_file(find_config("talos")).overridden([(INERTIAL_NODE, "filter", args.filter)])
    nominal = read_urdf(synthetic_robot("talos").urdf)
    rng = np.random.default_rng([seed, 1])
    true = perturbed_urdf(nominal, rng, mass_sigma=args.mass_sigma, com_sigma=args.com_sigma)
    truth = synthetic_truth(
        "talos", Timing(duration_s=9.0, rate_hz=250.0), motion, urdf=true, payload_time_s=ATTACHED_S
    )
    pipeline = build_pipelines(file, urdf=nominal).inertial
    recording = measure(truth, REALISTIC, noise)
    rows = np.array(estimates(recording, pipeline, int(truth.stamps_ns[0])))
    joint = truth.robot.link_body(LINK).joint_id
    mass = truth.robot.model.inertias[joint].mass + TWELVE_POUNDS
    settled = [settled_after(rows[:, t], rows[:, m], mass) for m in (2, 3) for t in (0, 1)]
    return (*settled, rows[-1, 2] / mass - 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--filter", default="log_cholesky", choices=list(FILTERS))
    parser.add_argument("--mass-sigma", type=float, default=0.0, help="of the true masses (logarithm)")
    parser.add_argument("--com-sigma", type=float, default=0.0, help="of the true centres of mass [m]")
    args = parser.parse_args()
    rows = np.array([one_seed(seed, args) for seed in range(args.seeds)])
    print(f"{args.seeds} seeds, gate on, {args.filter}, 5.44 kg at {ATTACHED_S:g} s  median  worst")
    names = ("estimate, by its stamp", "estimate, causal", "published, by its stamp", "published, causal")
    for i, name in enumerate(names):
        print(
            f"{name + ': within 5 % for good [s]':<50} {np.median(rows[:, i]):8.3f} {rows[:, i].max():8.3f}"
        )
    last = 100.0 * np.abs(rows[:, 4])
    print(f"{'error of the mass at the end [%]':<50} {np.median(last):8.3f} {last.max():8.3f}")


if __name__ == "__main__":
    main()
