"""Contacts detected from the joint torques of legs that hang in the air: each one is false."""

from pathlib import Path

import numpy as np

from benchmarks.real_robots.joint_recordings import JointRecording, identified
from inertial_estimation.configuration.config_lookup import load_configs
from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.models.contact_detector import ContactDetector
from inertial_estimation.models.coulomb import CoulombDirection
from inertial_estimation.models.joint_map import JointMap
from inertial_estimation.models.joint_middles import joint_middles
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline.identification_setup import identification_config
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.torque_prediction import friction_torques
from inertial_estimation.signals import Array, seconds

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
FORCE_ON, FORCE_OFF = 10.0, 5.0  # of config/go2.yaml [N]


def report(recording: JointRecording, datasets: Path) -> None:
    """Print how often and how strongly feet seem to touch."""
    config = identification_config(load_configs([recording.config]))
    run = identified(recording, datasets, config, "consistent")
    assert run.urdf is not None
    robot = RobotModel.from_urdf(run.urdf, floating_base=False)
    times_s, q, v, tau = _read(robot, datasets / recording.bag, config)
    rest = times_s >= recording.split_s
    print(f"  contacts by torques, feet in the air, {FORCE_ON:g}/{FORCE_OFF:g} N:")
    for name, friction in (("without friction", {}), ("with the friction found", run.result.friction)):
        force, closed = _detected(robot, times_s, q, v, tau, friction, config)
        print(
            f"    {name:<24} closed in {100 * closed[rest].mean():.2f} % of {closed[rest].size} samples, "
            f"vertical force rms {np.sqrt(np.mean(force[rest] ** 2)):.2f}, largest {force[rest].max():.1f} N"
        )


def _read(robot: RobotModel, bag: Path, config: IdentificationConfig) -> tuple[Array, Array, Array, Array]:
    joint_map = JointMap(robot, config.robot, need_effort=True)
    with BagRecording(bag) as recording:
        samples = [joint_map.sample(entry.sample) for entry in recording.entries(["/joint_states"])]
    times = seconds(np.array([sample.stamp_ns - samples[0].stamp_ns for sample in samples]))
    return times, *(np.array([getattr(sample, name) for sample in samples]) for name in ("q", "v", "tau"))


def _detected(
    robot: RobotModel,
    times_s: Array,
    q: Array,
    v: Array,
    tau: Array,
    friction: dict[str, float],
    config: IdentificationConfig,
) -> tuple[Array, Array]:
    """Return vertical forces and whether contacts are closed, shape (k, 4) each."""
    law, still = config.coulomb_law, np.zeros_like(v)
    names = robot.joint_names
    sign = CoulombDirection(law).along(v, float(np.median(np.diff(times_s))))
    rubbing = friction_torques(names, friction, q, v, still, sign, law.smoothing_speed, joint_middles(robot))
    armature = np.array([friction.get(f"{name}/armature", 0.0) for name in names])
    detector = ContactDetector(robot, FEET, force_on=FORCE_ON, force_off=FORCE_OFF, armature=armature)
    forces, closed = [], []
    steps = np.diff(times_s, prepend=times_s[0] - 5e-3)
    for row in zip(q, v, tau - rubbing, steps, strict=True):
        found = detector.update(*row, np.array([0.0, 0.0, 1.0]))
        forces.append([contact.vertical_force for contact in found])
        closed.append([contact.closed for contact in found])
    return np.array(forces), np.array(closed)
