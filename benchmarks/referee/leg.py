"""Forces at the foot of a leg from its joint torques alone, against the force sensor under it."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.referee.row import Row, exact

CONVERSION = (
    *("--map", "time=1[ms]", "--joints", "FL_HFE", "FL_KFE"),
    *("--map", "position=joint_positions.2-3", "--map", "effort=joint_torques.2-3"),
    *("--map", "foot/force=ati_force.2-4"),
)
FILES = ("joint_positions.dat", "joint_torques.dat", "ati_force.dat")
FOOT, CONFIG, SPLIT = "FL_FOOT", "odri_leg", 0.66
ARMATURE = 81 * 4.5e-6  # square of the gear ratio, rotor inertia of robot_properties_teststand [kg m^2]
GAIN = 100.0  # of the momentum observer [1/s]
UP = np.array([0.0, 0.0, 1.0])


def leg_rows(folder: Path) -> list[Row]:
    """Return the error of the vertical force over its peak, on the last third of the recording."""
    from inertial_estimation import load_configs, read_urdf
    from inertial_estimation.models.contacts import ContactForces, ContactFrames, MomentumObserver
    from inertial_estimation.models.robot_config import robot_from_config
    from inertial_estimation.offline.identification_setup import identification_config

    config = identification_config(load_configs([CONFIG])).robot
    robot = robot_from_config(config, read_urdf(config.urdf)).robot
    robot.model.armature = np.full(robot.model.nv, ARMATURE)
    observer = MomentumObserver(robot, gain=GAIN)
    forces = ContactForces(robot, [ContactFrames(FOOT, FOOT, FOOT)])
    errors, peak = [], 0.0
    for q, v, tau, force in _samples(folder, robot, config):
        found = forces.along(q, observer.update(q, v, tau, 1e-3), UP)[0]
        errors.append(found - force)
        peak = max(peak, abs(force))
    rest = np.array(errors[round(SPLIT * len(errors)) :])
    return [
        exact(
            "hopper leg: vertical force from torques, rms over peak",
            100.0 * np.sqrt(np.mean(rest**2)) / peak,
            "%",
        )
    ]


def _samples(folder, robot, config):
    """Yield positions, velocities, torques and the vertical force at each joint state."""
    from inertial_estimation import BagRecording
    from inertial_estimation.commands.main import main
    from inertial_estimation.inputs.joints import JointNeeds
    from inertial_estimation.inputs.robot_inputs import joints_alone

    with tempfile.TemporaryDirectory() as place:
        files = [str(folder / name) for name in FILES]
        assert main(["convert", *files, *CONVERSION, "--output", f"{place}/bag"]) == 0
        with BagRecording(Path(place, "bag")) as recording:
            joints = [entry.sample for entry in recording.entries(["/joint_states"])]
            forces = {e.sample.stamp_ns: e.sample.wrench_F[2] for e in recording.entries(["/foot/wrench"])}
    inputs = joints_alone(robot, config, JointNeeds(efforts=True))
    columns = inputs.joints.columns
    for reading in joints:
        inputs.push_joints(reading)
        for sample in inputs.ready():
            if sample.stamp_ns in forces:
                q, v, tau = (sample.driver[part] for part in (columns.q, columns.v, columns.tau))
                yield q, v, tau, float(forces[sample.stamp_ns])
