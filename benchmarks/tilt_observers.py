"""Tilt error of the observers, and of filters that know no contacts, on the recording of the walking iCub.

All get the raw gyroscope; nothing is fitted to the motion capture but the alignment of the metric. [deg]

    python -m benchmarks.tilt_observers [--start 20 --settle 10]
"""

import argparse
from collections.abc import Mapping

import numpy as np
from ahrs.filters import Madgwick, Mahony
from vqf import VQF

from benchmarks.referee.recordings import ICUB, command, datasets
from inertial_estimation import BagRecording, ImuSample, build_pipelines, load_configs
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.metrics import verticals
from inertial_estimation.replay.reference import read_trusted, tilt_errors

OBSERVERS: Mapping[str, tuple[str, ...]] = {  # parameters of the tilt observer
    "filter (default)": (),
    "two_stage, 20 / 100 / 1": ("observer=two_stage",),
    "two_stage, paper": (
        "observer=two_stage",
        *("two_stage.alpha1=100", "two_stage.alpha2=20", "two_stage.gamma=3"),
    ),
}


def imu_only(start_s: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return stamps and orientations (x y z w) by filters with default gains, and by the IMU's own filter."""
    with BagRecording(datasets() / ICUB[0]) as bag:
        begin = bag.start_ns + round(1e9 * start_s)
        samples = [e.sample for e in bag.entries(["/imu/data"], begin) if isinstance(e.sample, ImuSample)]
        own = [sample for sample in read_orientations(bag, "/xsens/orientation") if sample.stamp_ns >= begin]
    stamps = np.array([sample.stamp_ns for sample in samples])
    f = np.array([sample.specific_force_I for sample in samples])
    w = np.array([sample.angular_rate_I for sample in samples])
    period, order = 1e-9 * float(np.median(np.diff(stamps))), [1, 2, 3, 0]
    own_stamps, own_xyzw = (np.array([getattr(s, n) for s in own]) for n in ("stamp_ns", "quaternion_xyzw"))
    return {
        "VQF": (stamps, VQF(period).updateBatch(w.copy(), f.copy())["quat6D"][:, order]),
        "Mahony": (stamps, Mahony(gyr=w, acc=f, frequency=1.0 / period).Q[:, order]),
        "Madgwick": (stamps, Madgwick(gyr=w, acc=f, frequency=1.0 / period).Q[:, order]),
        "the IMU's own filter (higher rate)": (own_stamps, own_xyzw),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--start", type=float, default=0.0, help="begin here [s]")
    parser.add_argument("--settle", type=float, default=0.0, help="compare from this much later on [s]")
    args = parser.parse_args()
    options = [*ICUB[1:], "--only", "tilt_observer", "--no-figures", "--start", str(args.start)]
    for name, values in OBSERVERS.items():
        given = [word for value in values for word in ("--param", f"tilt_observer.{value}")]
        given += ["--settle", str(args.settle)]
        report(name, command("replay", ICUB[0], [*options, *given], "metrics.json")["tilt_error_deg"])
    built = build_pipelines(load_configs(["icub"]), urdf=str(datasets() / "icub_walking/iCubGenova04.urdf"))
    robot = built.tilt.robot
    R_BI = robot.fixed_transform(robot.base_link, built.values["imu_frame"]).rotation
    with BagRecording(datasets() / ICUB[0]) as bag:
        reference = read_orientations(bag, "/vicon/root_link/pose")
    trusted = read_trusted(datasets() / "icub_walking/walk_front_back_2021_vicon_ok.csv")
    for name, (stamps, xyzw) in imu_only(args.start).items():
        errors = tilt_errors(
            stamps, verticals(xyzw) @ R_BI.T, reference, trusted, settle_ns=round(1e9 * args.settle)
        )
        report(name, {key: np.degrees(value) for key, value in errors.summary._asdict().items()})


def report(name: str, found: Mapping[str, float]) -> None:
    print(f"{name:36}" + "".join(f"  {key} {found[key]:.3f}" for key in ("mean", "rms", "p95", "max")))


if __name__ == "__main__":
    main()
