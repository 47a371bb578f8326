"""Tilt error of all observers and of filters that know no contacts: walking iCub, synthetic gaits.

    python -m benchmarks.tilt_observers [icub] [gaits] [--robots hyq go2 anymal] [--seeds 1 2]

All get the raw gyroscope; on the iCub nothing is fitted to the motion capture but the alignment of the
metric. "Equally tuned": the velocity follows at 20 1/s and the slowest error decays at 1 1/s, whatever the
observer. Of the gaits the truth is exact, and VQF has its default time constant. In both the observers have
their shipped settings unless the row says otherwise; [deg].
"""

import argparse
from collections.abc import Mapping

import numpy as np
from ahrs.filters import Madgwick, Mahony
from vqf import VQF

from benchmarks.referee.gaits import BEGUN_S, GAITS, RATE_HZ, readings_of, tilt_errors
from benchmarks.referee.recordings import ICUB, command, datasets
from inertial_estimation import BagRecording, ImuSample, build_pipelines, load_configs
from inertial_estimation.recordings.recording import read_orientations
from inertial_estimation.replay.metrics import tilt_errors as aligned_errors
from inertial_estimation.replay.metrics import verticals
from inertial_estimation.replay.result_files import read_trusted


def fixed(observer: str, **gains: float) -> dict[str, object]:
    """Return the parameters that choose an observer with a fixed rate, and its gains."""
    own = {f"{observer}.{name}": value for name, value in gains.items()}
    return {"observer": observer, "adaptation.enabled": False, **own}


OBSERVERS: Mapping[str, dict[str, object]] = {
    "kalman (default)": {},
    "two_stage, adaptive": {"observer": "two_stage"},
    "two_stage, 20 / 100 / 1": fixed("two_stage"),
    "r3s2, equally tuned, 20 / 20": fixed("r3s2", k1v=20.0, k1r=20.0),
    "hua, equally tuned, 10 / 10 / 20": fixed("hua", k1v=10.0, k2v=10.0, k1r=20.0),
    "invariant_ekf": fixed("invariant_ekf"),
    "two_stage, gains of the paper": fixed("two_stage", alpha1=100.0, alpha2=20.0, gamma=3.0),
    "r3s2, gains of the paper": fixed("r3s2"),
    "hua, gains of the paper": fixed("hua"),
}


def imu_only(forces: np.ndarray, rates: np.ndarray, period: float) -> dict[str, np.ndarray]:
    """Return orientations (x y z w) of the IMU by filters that know no contacts, their default gains."""
    order = [1, 2, 3, 0]
    return {
        "VQF": VQF(period).updateBatch(rates.copy(), forces.copy())["quat6D"][:, order],
        "Mahony": Mahony(gyr=rates, acc=forces, frequency=1.0 / period).Q[:, order],
        "Madgwick": Madgwick(gyr=rates, acc=forces, frequency=1.0 / period).Q[:, order],
    }


def icub() -> None:
    """Print the errors on the recording of the walking iCub."""
    for name, values in OBSERVERS.items():
        given = [
            word for key, value in values.items() for word in ("--param", f"tilt_observer.{key}={value}")
        ]
        options = [*ICUB[1:], "--only", "tilt_observer", "--no-figures", *given]
        report(f"icub {name}", command("replay", ICUB[0], options, "metrics.json")["tilt_error_deg"])
    built = build_pipelines(load_configs(["icub"]), urdf=str(datasets() / "icub_walking/iCubGenova04.urdf"))
    assert built.tilt is not None
    R_BI = built.tilt.robot.fixed_transform(built.tilt.robot.base_link, built.values["imu_frame"]).rotation
    with BagRecording(datasets() / ICUB[0]) as bag:
        reference = read_orientations(bag, "/vicon/root_link/pose")
        own = read_orientations(bag, "/xsens/orientation")
        samples = [e.sample for e in bag.entries(["/imu/data"]) if isinstance(e.sample, ImuSample)]
    stamps = np.array([sample.stamp_ns for sample in samples])
    forces = np.array([sample.specific_force_I for sample in samples])
    rates = np.array([sample.angular_rate_I for sample in samples])
    found = {
        name: (stamps, xyzw)
        for name, xyzw in imu_only(forces, rates, 1e-9 * float(np.median(np.diff(stamps)))).items()
    }
    known = np.array([sample.stamp_ns for sample in own])
    found["the IMU's own filter (higher rate)"] = known, np.array([sample.quaternion_xyzw for sample in own])
    trusted = read_trusted(datasets() / "icub_walking/walk_front_back_2021_vicon_ok.csv")
    for name, (at, xyzw) in found.items():
        summary = aligned_errors(at, verticals(xyzw) @ R_BI.T, reference, trusted).summary
        report(f"icub {name}", {k: np.degrees(getattr(summary, k)) for k in ("mean", "rms", "p95", "max")})


def gaits(robots: list[str], seeds: list[int]) -> None:
    """Print the means over the seeds of the rms errors in synthetic gaits."""
    for robot in robots:
        for gait in GAITS:
            errors: dict[str, list[float]] = {}
            for seed in seeds:
                setup, readings = readings_of(robot, gait, seed, 16.0)
                counted = readings.times_s > BEGUN_S
                for name, values in OBSERVERS.items():
                    error = tilt_errors(robot, setup, readings, tuple(values.items()))[0]
                    errors.setdefault(name, []).append(float(np.sqrt(np.nanmean(error[counted] ** 2))))
                xyzw = imu_only(readings.imu[:, :3], readings.imu[:, 3:], 1.0 / RATE_HZ)["VQF"]
                cosine = np.clip(np.sum(verticals(xyzw) * readings.up_I, axis=1), -1.0, 1.0)
                rms = np.degrees(np.sqrt(np.mean(np.arccos(cosine[counted]) ** 2)))
                errors.setdefault("VQF", []).append(float(rms))
            for name, found in errors.items():
                report(f"{robot} {gait}: {name}", {"rms": float(np.mean(found))})


def report(name: str, found: Mapping[str, float]) -> None:
    print(
        f"{name:64}"
        + "".join(f"  {key} {found[key]:.3f}" for key in ("mean", "rms", "p95", "max") if key in found)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", choices=("icub", "gaits", []), help="both by default")
    parser.add_argument(
        "--robots", nargs="+", default=["hyq", "go2"], help="quadrupeds with a file, or by init"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    args = parser.parse_args()
    if "icub" in (args.what or ["icub"]):
        icub()
    if "gaits" in (args.what or ["gaits"]):
        gaits(args.robots, args.seeds)


if __name__ == "__main__":
    main()
