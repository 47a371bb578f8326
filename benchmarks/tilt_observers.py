"""Tilt error of the observers, and of filters that know no contacts, on the recording of the walking iCub.

All get the raw gyroscope; nothing is fitted to the motion capture but the alignment of the metric. [deg]

    python -m benchmarks.tilt_observers
"""

from collections.abc import Mapping

import numpy as np
from ahrs.filters import Madgwick, Mahony
from vqf import VQF

from benchmarks.referee.commands import dataset
from benchmarks.referee.recordings import ICUB, WALK, icub_metrics
from inertial_estimation import BagRecording, ImuSample, build_pipelines, load_configs
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.metrics import verticals
from inertial_estimation.replay.reference import read_trusted, tilt_errors

OBSERVERS = {  # parameters of the tilt observer
    "filter (default)": "",
    "two_stage, 20 / 100 / 1": "observer=two_stage",
    "two_stage, paper": "observer=two_stage two_stage.alpha1=100 two_stage.alpha2=20 two_stage.gamma=3",
}


def imu_only(bag: BagRecording) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return stamps and orientations (x y z w) by filters with default gains, and by the IMU's own filter."""
    samples = [e.sample for e in bag.entries(["/imu/data"]) if isinstance(e.sample, ImuSample)]
    names = ("stamp_ns", "specific_force_I", "angular_rate_I")
    stamps, f, w = (np.array([getattr(sample, name) for sample in samples]) for name in names)
    period, order = 1e-9 * float(np.median(np.diff(stamps))), [1, 2, 3, 0]
    own = read_orientations(bag, "/xsens/orientation")
    own_stamps, own_xyzw = (np.array([getattr(s, n) for s in own]) for n in ("stamp_ns", "quaternion_xyzw"))
    return {
        "VQF": (stamps, VQF(period).updateBatch(w.copy(), f.copy())["quat6D"][:, order]),
        "Mahony": (stamps, Mahony(gyr=w, acc=f, frequency=1.0 / period).Q[:, order]),
        "Madgwick": (stamps, Madgwick(gyr=w, acc=f, frequency=1.0 / period).Q[:, order]),
        "the IMU's own filter (higher rate)": (own_stamps, own_xyzw),
    }


def main() -> None:
    for name, values in OBSERVERS.items():
        given = [word for value in values.split() for word in ("--param", f"tilt_observer.{value}")]
        report(name, icub_metrics("--only", "tilt_observer", *given)["tilt_error_deg"])
    folder = dataset(ICUB)
    built = build_pipelines(load_configs(["icub"]), urdf=str(folder / "iCubGenova04.urdf"))
    robot = built.tilt.robot
    R_BI = robot.fixed_transform(robot.base_link, built.values["imu_frame"]).rotation
    with BagRecording(folder / WALK) as bag:
        reference, others = read_orientations(bag, "/vicon/root_link/pose"), imu_only(bag)
    trusted = read_trusted(folder / f"{WALK}_vicon_ok.csv")
    for name, (stamps, xyzw) in others.items():
        errors = tilt_errors(stamps, verticals(xyzw) @ R_BI.T, reference, trusted).summary._asdict()
        report(name, {key: np.degrees(value) for key, value in errors.items()})


def report(name: str, found: Mapping[str, float]) -> None:
    print(f"{name:36}" + "".join(f"  {key} {found[key]:.3f}" for key in ("mean", "rms", "p95", "max")))


if __name__ == "__main__":
    main()
