"""Regressor rows per second of the Panda arm, compared with figaroh's on the same samples.

Both make the rows of all 7 joint torques over all 70 inertial parameters and the same four friction terms of
each joint, out of positions, velocities and accelerations. The columns are compared as well (Coulomb: where
the speed is well above that of the smoothed sign). figaroh needs its own environment; it runs in a subprocess
of the Python given, or in this one.

Run: python benchmarks/regressor_rows.py --figaroh-python /path/to/python
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.models.body_reference import estimated_bodies
from inertial_estimation.models.dynamics_measurement import DynamicsMeasurement
from inertial_estimation.models.friction import FrictionTerms, friction_model
from inertial_estimation.models.measured_state import MeasuredState
from inertial_estimation.models.measurement_noise import MeasurementNoise
from inertial_estimation.models.measurement_rows import RowSelection
from inertial_estimation.models.robot_model import RobotModel

LINKS = tuple(f"panda_link{i}" for i in range(1, 8))
TERMS = ("coulomb", "viscous", "offset", "armature")
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
RUNS = 7  # of each in one round
CHUNK = 128  # samples at a time, as identification makes them
FIGAROH = """
import sys, time
import numpy as np, pinocchio as pin
try:
    import figaroh
    from figaroh.tools.regressor import build_regressor_basic
except ImportError as error:
    sys.exit(f"this Python lacks what figaroh needs: {error}")
folder, runs = sys.argv[1], int(sys.argv[2])
samples = np.load(folder + "/samples.npz")
model = pin.buildModelFromUrdf(folder + "/robot.urdf")
fingers = [model.getJointId(name) for name in ("panda_finger_joint1", "panda_finger_joint2")]
class Robot: pass
robot = Robot()
robot.model = pin.buildReducedModel(model, fingers, pin.neutral(model))
robot.data = robot.model.createData()
config = dict(is_joint_torques=True, has_friction=True, has_actuator_inertia=True, has_joint_offset=True,
              act_idxv=list(range(7)))
times = []
for _ in range(runs):
    start = time.perf_counter()
    W = build_regressor_basic(robot, samples["q"], samples["v"], samples["a"], config)
    times.append(time.perf_counter() - start)
np.savez(folder + "/figaroh.npz", W=W, seconds=min(times))
"""


def our_rows(measurement: DynamicsMeasurement, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Rows of all samples, shape (k, 7, 98)."""
    rows = np.empty((len(q), 7, 98))
    for first in range(0, len(q), CHUNK):
        part = slice(first, first + CHUNK)
        rows[part] = measurement.rows(MeasuredState(q[part], v[part], a[part])).regressor
    return rows


def compared(ours: np.ndarray, W: np.ndarray, v: np.ndarray, v_s: float) -> tuple[float, float]:
    """Largest differences: of all columns but Coulomb's, and of Coulomb's at speed.

    figaroh stacks joint after joint, and orders viscous, Coulomb, armature, offset.
    """
    k = len(ours)
    theirs = W.reshape(7, k, -1).transpose(1, 0, 2)
    blocks = dict(
        zip(("viscous", "coulomb", "armature", "offset"), np.split(theirs[:, :, 70:], 4, axis=2), strict=True)
    )
    own = dict(zip(TERMS, np.split(ours[:, :, 70:], 4, axis=2), strict=True))
    smooth = [np.abs(own[n] - blocks[n]).max() for n in ("viscous", "armature", "offset")]
    fast = np.abs(v) > 10.0 * v_s
    coulomb = np.abs((own["coulomb"] - blocks["coulomb"]).sum(axis=2))[fast].max()
    return max(np.abs(ours[:, :, :70] - theirs[:, :, :70]).max(), *smooth), float(coulomb)


def print_rate(name: str, seconds: float, samples: int) -> None:
    print(f"{name:14} {7 * samples / seconds:10.0f} rows/s  {1e6 * seconds / samples:6.1f} us a sample")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figaroh-python", default=sys.executable, help="Python with figaroh installed")
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=4, help="of both in turn; the fastest run counts")
    arguments = parser.parse_args()
    urdf = read_urdf("example-robot-data:panda")
    robot = RobotModel.from_urdf(urdf, floating_base=False, locked_joints=FINGERS)
    friction, _known = friction_model(FrictionTerms(("*",), TERMS), robot)
    measurement = DynamicsMeasurement(
        robot, estimated_bodies(robot, LINKS), RowSelection(), MeasurementNoise(), (), friction
    )
    q, v, a = np.random.default_rng(0).normal(size=(3, arguments.samples, 7))
    ours, own_s, theirs_s = np.empty(0), [], []
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "samples.npz", q=q, v=v, a=a)
        (Path(folder) / "robot.urdf").write_text(urdf)
        for _ in range(arguments.rounds):  # in turn: both see the same load of the machine
            for _ in range(RUNS):
                start = time.perf_counter()
                ours = our_rows(measurement, q, v, a)
                own_s.append(time.perf_counter() - start)
            command = [arguments.figaroh_python, "-c", FIGAROH, folder, str(RUNS)]
            run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            if run.returncode:
                print_rate("this package", min(own_s), arguments.samples)
                print(f"figaroh did not run: {run.stderr.strip().splitlines()[-1]}")
                print("install it (pip install figaroh) in some environment and give --figaroh-python")
                return 1
            theirs = np.load(Path(folder) / "figaroh.npz")
            theirs_s.append(float(theirs["seconds"]))
    print_rate("this package", min(own_s), arguments.samples)
    print_rate("figaroh", min(theirs_s), arguments.samples)
    print(f"ratio {min(theirs_s) / min(own_s):.2f}")
    rest, coulomb = compared(ours, theirs["W"], v, friction.smoothing_speed)
    print(f"largest difference of columns {rest:.1e}, of Coulomb's above 10 smoothing speeds {coulomb:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
