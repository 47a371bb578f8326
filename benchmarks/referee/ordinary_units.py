"""Readings in units of the sensor's manufacturer: g, degrees, percent of a servo."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.referee.commands import identified, ran, reported
from benchmarks.referee.ordinary import ROBOT, Cases, replayed, text_of, trot
from benchmarks.referee.readings import changed, of_type, written
from benchmarks.referee.robots import arm
from inertial_estimation import REALISTIC, ImuSample, JointReading, Timing, measure, synthetic_truth
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.models.friction import NominalFriction
from inertial_estimation.simulation.config import SensorNoise

GRAVITY, DEGREES = 9.80665, 180.0 / np.pi
SERVO_NM = 2.94  # torque of a small servo at 100 %
case = Cases()


def trot_in_g() -> Any:
    """Return the trot with an IMU that reads g and deg/s."""

    def in_g(s: ImuSample) -> ImuSample:
        return ImuSample(s.stamp_ns, s.specific_force_I / GRAVITY, s.angular_rate_I * DEGREES)

    return changed(trot()[1], of_type(ImuSample, in_g))


@case("units: IMU in g and deg/s, `check` names both")
def units_of_imu(folder: Path) -> str:
    """Both are named in one run, not the second one only after the first has been corrected."""
    text = text_of(reported(written(trot_in_g(), folder / "bag"), "--config", ROBOT))
    missing = [unit for unit in ("in g", "deg/s") if unit not in text]
    return f"not named: {missing}" if missing else ""


@case("units: IMU in g and deg/s, `replay` says so")
def units_in_replay(folder: Path) -> str:
    """A replay that has no estimate names the unit."""
    text = replayed(trot_in_g(), folder)[1]
    return "" if " g" in text and "deg/s" in text else text.strip()[-150:]


def arm_bag(folder: Path, urdf: str, coulomb: Sequence[float], noise: SensorNoise, scale: float) -> Path:
    """Return a bag of an arm that moves for 20 s; `arm.yaml` beside it is the file that `init` writes."""
    (folder / "arm.urdf").write_text(urdf, encoding="utf-8")
    assert ran("init", folder / "arm.urdf", "--output", folder / "arm.yaml", "--no-trial")[0] == 0
    rng = np.random.default_rng(0)
    truth = synthetic_truth("arm", Timing(20.0, 250.0), rng, urdf=urdf, payload_time_s=None)
    friction = NominalFriction(truth.robot.joint_names, ("coulomb", "viscous"), 2 * tuple(coulomb))
    robot = RobotConfig(floating_base=False, nominal_friction=friction)
    recording = measure(truth, noise, rng, robot)
    if scale != 1.0:
        scaled = of_type(JointReading, lambda s: replace(s, effort=np.round(scale * s.effort, 1)))
        recording = changed(recording, scaled)
    return written(recording, folder / "bag")


def servo_bag(folder: Path) -> Path:
    """Return a bag of a small arm with efforts in percent of a servo's torque and the noise of servos."""
    urdf = arm((0.1, 0.08, 0.08, 0.04, 0.03), (0.05, 0.12, 0.13, 0.06, 0.05), 5 * (10.0,), 0.12)
    return arm_bag(folder, urdf, 5 * (0.02,), REALISTIC, 100.0 / SERVO_NM)


@case("units: efforts in percent of a servo, `check` names the scale and no zero")
def percent_in_check(folder: Path) -> str:
    """Efforts are 34 times too large, their zeros are exact."""
    bad = reported(servo_bag(folder), "--config", folder / "arm.yaml")
    zeros = [one["subject"] for one in bad if one["check"] == "effort zero"]
    scale = any(
        "effort" in one["check"] and any(w in one["sentence"] for w in ("times", "percent")) for one in bad
    )
    return f"zeros accused: {zeros}" if zeros else "" if scale else "no scale named"


@case("units: efforts in percent of a servo, `identify` warns")
def percent_in_identify(folder: Path) -> str:
    """Masses fourteen times those of the description are not accepted without a warning."""
    bag = servo_bag(folder)
    options = ("--config", folder / "arm.yaml", "--links", "*", "--split", "14", "--no-figures")
    code, output = ran("identify", bag, *options, "--output", folder / "identified")
    words = ("percent", "drive_gains", "scale")
    return "" if code or any(word in output for word in words) else "no word of the scale"


@case("size: friction of an arm of a tonne is identified")
def friction_of_a_large_robot(folder: Path) -> str:
    """Friction of 500 Nm is not held at one by a prior for small robots."""
    coulomb = (500.0, 600.0, 550.0, 80.0, 60.0, 30.0)
    efforts = (5000.0, 5000.0, 5000.0, 1000.0, 1000.0, 1000.0)
    urdf = arm((350.0, 250.0, 180.0, 60.0, 40.0, 20.0), (0.6, 1.2, 1.0, 0.3, 0.2, 0.1), efforts, 1.6)
    bag = arm_bag(folder, urdf, coulomb, replace(REALISTIC, effort=10.0), 1.0)
    options = ("--config", folder / "arm.yaml", "--split", "14", "--links", "*")
    terms = ("--param", "inertial_ekf.friction.joints=[joint_*]")
    fitted = identified(bag, *options, *terms)["friction"]
    share = {f"joint_{i}": fitted.get(f"joint_{i}/coulomb", 0.0) / c for i, c in enumerate(coulomb, start=1)}
    low = {name: round(value, 3) for name, value in share.items() if not 0.7 < value < 1.4}
    return f"over the true friction: {low}" if low else ""
