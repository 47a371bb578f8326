"""Memory of an identification: peak of the whole command on a recording of 1e6 samples against 1e5.

Both recordings are generated (a Panda at 1 kHz, all joints moving, noise on positions and torques) and
identified by `inertial-estimation identify`, each in a process of its own. Run from the root of the project:
``python -m benchmarks.identification_memory``.
Bound: 1.1 times.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inertial_estimation.commands.main import main as inertial_estimation
from inertial_estimation.configuration.config_lookup import find_config, load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.inverse_dynamics import IdealSensors, MotionState
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.recordings.message_conversion import JOINT_STATE_TYPE
from inertial_estimation.recordings.recording import RecordingEntry
from inertial_estimation.recordings.recording_writer import write_recording
from inertial_estimation.signals import JointReading

ROBOT = "panda"
STEP_NS = 1_000_000
PERIOD = 10_000  # samples, after which the motion repeats
HARMONICS = 5
BOUND = 1.1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, nargs=2, default=[100_000, 1_000_000])
    parser.add_argument("--method", default="consistent")
    parser.add_argument("--bag", help=argparse.SUPPRESS)  # the child: identify it, print the peak
    args = parser.parse_args()
    if args.bag:
        return identify(args.bag, args.method)
    peaks = []
    for samples in args.samples:
        with tempfile.TemporaryDirectory() as folder:
            bag = Path(folder) / "bag"
            begin = time.perf_counter()
            write_recording(Generated(samples), bag)
            written_s = time.perf_counter() - begin
            begin = time.perf_counter()
            peaks.append(peak_of_child(bag, args.method))
            taken_s = time.perf_counter() - begin
        print(
            f"{samples:>9} samples: peak {peaks[-1] / 1024:.1f} MB, identified in {taken_s:.0f} s "
            f"({samples / taken_s:.0f} samples/s), written in {written_s:.0f} s",
            flush=True,
        )
    ratio = peaks[1] / peaks[0]
    print(f"ratio {ratio:.3f}, bound {BOUND}")
    return 0 if ratio <= BOUND else 1


def identify(bag: str, method: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["identify", bag, "--config", ROBOT, "--method", method, "--output", folder]
        code = inertial_estimation(arguments)
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # [kB]
    return code


def peak_of_child(bag: Path, method: str) -> int:
    command = [
        sys.executable,
        "-m",
        "benchmarks.identification_memory",
        "--bag",
        str(bag),
        "--method",
        method,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1])


class Generated:
    """Joint states of a periodic motion, made while they are written."""

    topics = {"/joint_states": JOINT_STATE_TYPE}  # noqa: RUF012

    def __init__(self, samples: int) -> None:
        config = load_configs([str(find_config(ROBOT))]).shared
        self._robot = RobotModel.from_urdf(
            read_urdf(config["urdf"]), floating_base=False, locked_joints=config["locked_joints"]
        )
        self._samples = samples

    @property
    def messages(self) -> Iterator[RecordingEntry]:
        """Make all messages in order."""
        rng = np.random.default_rng(0)
        q, v, tau = self._period(rng)
        names = self._robot.joint_names
        for k in range(self._samples):
            stamp, i = 1_700_000_000_000_000_000 + k * STEP_NS, k % PERIOD
            noise = rng.standard_normal((2, len(names)))
            reading = JointReading(stamp, names, q[i] + 1e-5 * noise[0], v[i], tau[i] + 0.05 * noise[1])
            yield RecordingEntry("/joint_states", stamp, reading)

    def _period(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        robot, dynamics = self._robot, IdealSensors(self._robot)
        middle = 0.5 * (robot.model.lowerPositionLimit + robot.model.upperPositionLimit)
        w = 2.0 * np.pi * np.arange(1, HARMONICS + 1) / (PERIOD * STEP_NS * 1e-9)
        amplitude = 0.25 * rng.standard_normal((HARMONICS, robot.n_joints))
        phase = np.outer(np.arange(PERIOD) * STEP_NS * 1e-9, w)
        q = middle + np.sin(phase) @ amplitude
        v = (np.cos(phase) * w) @ amplitude
        a = (-np.sin(phase) * w**2) @ amplitude
        motion = zip(q, v, a, strict=True)
        tau = [dynamics.read(MotionState(robot.configuration(qk), vk, ak)).tau for qk, vk, ak in motion]
        return q, v, np.array(tau)


if __name__ == "__main__":
    sys.exit(main())
