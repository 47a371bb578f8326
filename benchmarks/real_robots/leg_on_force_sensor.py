"""Forces at the foot of a leg from joint torques alone, against the force sensor under it.

The friction of the two drives is fitted on the first part, by the sensor; the rest is predicted without it.
"""

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
import pinocchio as pin

from inertial_estimation.commands.main import main
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import MeasurementError
from inertial_estimation.models.contact_force import ContactForces
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.momentum_observer import MomentumObserver
from inertial_estimation.models.robot_config import ContactFrames, RobotConfig, robot_from_config
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.identification_setup import identification_config
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.signals import Array

CONVERSION = (
    *("joint_positions.dat", "joint_torques.dat", "ati_force.dat"),
    *("--map", "time=1[ms]", "--joints", "FL_HFE", "FL_KFE"),
    *("--map", "position=joint_positions.2-3", "--map", "effort=joint_torques.2-3"),
    *("--map", "foot/force=ati_force.2-4"),
)
FOOT, CONFIG, SPLIT = "FL_FOOT", "odri_leg", 0.66
ARMATURE = 81 * 4.5e-6  # square of the gear ratio, rotor inertia of robot_properties_teststand [kg m^2]
GAIN, SLOW = 100.0, 0.02  # of the observer [1/s]; speed over which friction changes sign [rad/s]


def report(datasets: Path) -> None:
    """Print the errors of the vertical force."""
    config = identification_config(load_configs([CONFIG])).robot
    robot = robot_from_config(config, read_urdf(config.urdf)).robot
    q, v, tau, force = _read(datasets / "hopper_leg", robot, config)
    peak = np.abs(force[:, 2]).max()
    cut = round(SPLIT * len(q))
    without = _vertical(robot, q, v, tau)
    friction = _fitted_friction(robot, q[:cut], v[:cut], tau[:cut], force[:cut])
    calibrated = _vertical(robot, q, v, tau - _friction(v) @ friction)
    estimates = {
        "-J^-T tau, no model": _vertical(robot, q, v, tau, statics=True),
        "momentum observer": without,
        "the same, friction by the sensor": calibrated,
    }
    print(f"\nleg on a force sensor: convert {' '.join(CONVERSION)}")
    print(f"  peak {peak:.1f} N, {len(q)} samples; rms of the vertical force [N], share of the peak")
    for name, estimate in estimates.items():
        rms = [
            np.sqrt(np.mean((estimate - force[:, 2])[part] ** 2))
            for part in (slice(0, cut), slice(cut, None))
        ]
        said = ", ".join(f"{r:.2f} N {100 * r / peak:.1f}%" for r in rms)
        print(f"  {name:<34} first {100 * SPLIT:.0f} %, rest: {said}")
    slope = np.polyfit(estimates["momentum observer"], force[:, 2], 1)[0]
    print(f"  slope of the measured force over that of the observer {slope:.3f}")
    lowest = force[:, 2].min()
    print(
        f"  the lowest force is {lowest:.1f} N: the foot is held by the sensor, there is no flight to detect"
    )


def _read(folder: Path, robot: RobotModel, config: RobotConfig) -> tuple[Array, Array, Array, Array]:
    """Return positions, velocities, torques and the force at the foot at each joint state, (k, ...)."""
    arguments = [str(folder / part) if part.endswith(".dat") else part for part in CONVERSION]
    with tempfile.TemporaryDirectory() as temporary:
        bag = Path(temporary) / "bag"
        with contextlib.redirect_stdout(io.StringIO()):
            main(["convert", *arguments, "--output", str(bag)])
        with BagRecording(bag) as recording:
            joints = [entry.sample for entry in recording.entries(["/joint_states"])]
            wrenches = {e.sample.stamp_ns: e.sample for e in recording.entries(["/foot/wrench"])}
    joint_map = JointMap(robot, config, need_effort=True)
    samples = []
    for reading in joints:
        if reading.stamp_ns in wrenches:
            with contextlib.suppress(MeasurementError):  # no velocity before the first window of positions
                samples.append(joint_map.sample(reading))
    force = np.array([wrenches[sample.stamp_ns].wrench_F[:3] for sample in samples])
    return *(np.array([getattr(sample, name) for sample in samples]) for name in ("q", "v", "tau")), force


def _vertical(robot: RobotModel, q: Array, v: Array, tau: Array, *, statics: bool = False) -> Array:
    """Return the vertical force at the foot [N], shape (k,)."""
    observer = MomentumObserver(robot, gain=GAIN, armature=np.full(robot.n_joints, ARMATURE))
    forces = ContactForces(robot, [ContactFrames(FOOT, FOOT, FOOT)])
    found = []
    for row in zip(q, v, tau, strict=True):
        residual = -row[2] if statics else observer.update(*row, 1e-3)
        found.append(forces.estimate(row[0], residual).along(np.array([0.0, 0.0, 1.0]))[0])
    return np.array(found)


def _friction(v: Array) -> Array:
    """Return the columns of Coulomb friction and offset of both joints, shape (k, 2, 4)."""
    columns = np.zeros((len(v), 2, 4))
    for joint in range(2):
        columns[:, joint, joint] = np.tanh(v[:, joint] / SLOW)
        columns[:, joint, 2 + joint] = 1.0
    return columns


def _fitted_friction(robot: RobotModel, q: Array, v: Array, tau: Array, force: Array) -> Array:
    """Return Coulomb friction and offsets from tau = g - J'f + friction, by least squares, shape (4,)."""
    model, data, foot = robot.model, robot.model.createData(), robot.frame_id(FOOT)
    left = []
    for q_k, tau_k, force_k in zip(q, tau, force, strict=True):
        J = pin.computeFrameJacobian(model, data, q_k, foot, pin.LOCAL_WORLD_ALIGNED)[:3]
        left.append(tau_k - pin.computeGeneralizedGravity(model, data, q_k) + J.T @ force_k)
    columns = _friction(v).reshape(-1, 4)
    return np.linalg.lstsq(columns, np.concatenate(left), rcond=None)[0]
