"""`tune` from the command line to the files: noisy joint velocities, gains too high, no reference."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.leg_robot import CONFIG, URDF, Stance

from inertial_estimation.commands.main import main
from inertial_estimation.configuration.config_file import load_configs
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE, WRENCH_TYPE
from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry
from inertial_estimation.signals import ImuSample, WrenchSample

STEP_NS, STEPS = 20_000_000, 900
BAD = {"alpha1": 20.0, "alpha2": 400.0, "gamma": 20.0}
VARY = ("--vary", "two_stage.alpha2=2:500", "two_stage.gamma=0.05:20")


def entries():
    stance, rng = Stance(3, still_until=0.5), np.random.default_rng(0)
    for k in range(1, STEPS):
        stamp = k * STEP_NS
        t = 1e-9 * stamp
        imu = stance.imu(stamp, t)
        noisy = ImuSample(
            stamp,
            imu.specific_force_I + 0.1 * rng.normal(size=3),
            imu.angular_rate_I + 0.002 * rng.normal(size=3),
        )
        entry = partial(RecordingEntry, log_ns=stamp)
        joints = stance.joints(stamp, t)
        velocity = joints.velocity + 0.05 * rng.normal(size=len(joints.names))
        yield entry(topic="/joint_states", sample=replace(joints, velocity=velocity))
        yield entry(topic="/left/wrench", sample=stance.wrench(stamp, 400.0))
        yield entry(topic="/right/wrench", sample=WrenchSample(stamp, np.zeros(6)))
        yield entry(topic="/imu/data", sample=noisy)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Folder with a bag, its robot and a parameter file with bad gains."""
    folder = tmp_path_factory.mktemp("tune")
    types = {
        "/joint_states": JOINT_STATE_TYPE,
        "/imu/data": IMU_TYPE,
        "/left/wrench": WRENCH_TYPE,
        "/right/wrench": WRENCH_TYPE,
    }
    write_recording(MemoryRecording(tuple(entries()), types), folder / "bag")
    (folder / "robot.urdf").write_text(URDF)
    shared = {name: list(value) if isinstance(value, tuple) else value for name, value in CONFIG.items()}
    sections = {
        "/**": {"ros__parameters": {"urdf": "robot.urdf", **shared}},
        "/**/tilt_observer": {"ros__parameters": {"observer": "two_stage", "two_stage": BAD}},
    }
    (folder / "robot.yaml").write_text(yaml.safe_dump(sections))
    return folder


def given(scene: Path, output: Path) -> list[str]:
    files = [str(scene / "bag"), "--config", str(scene / "robot.yaml"), "--output", str(output)]
    return [*files, "--no-figures", *VARY]


@pytest.fixture(scope="module")
def results(scene):
    assert main(["tune", *given(scene, scene / "tuned"), "--trials", "8"]) == 0
    return scene / "tuned"


def test_better_gains_are_found_without_a_reference(results):
    found = json.loads((results / "tuning.json").read_text())["estimators"]["tilt_observer"]
    for judged in ("training", "held_out"):
        judgement = found[judged]
        assert judgement["mean"] < 0.5 * judgement["before"]
        assert judgement["difference"] < -2.0 * judgement["sigma"]
    assert not [warning for warning in found["warnings"] if "held-out" in warning]
    assert len(found["trials"]) == 8
    assert found["trials"][0]["values"] == pytest.approx(
        {f"two_stage.{n}": BAD[n] for n in ("alpha2", "gamma")}
    )
    alpha2 = next(p for p in found["parameters"] if p["variation"]["name"] == "two_stage.alpha2")
    assert alpha2["sensitivity"]["low"] <= alpha2["value"] <= alpha2["sensitivity"]["high"] < BAD["alpha2"]


def test_the_parameter_file_has_what_has_changed(scene, results):
    text = (results / "tuned.yaml").read_text()
    tuned = load_configs([str(results / "tuned.yaml")])
    assert set(tuned.nodes["tilt_observer"]) <= {"two_stage.alpha2", "two_stage.gamma"}
    both = load_configs([str(scene / "robot.yaml"), str(results / "tuned.yaml")])
    assert both.nodes["tilt_observer"]["two_stage.alpha1"] == BAD["alpha1"]
    assert both.nodes["tilt_observer"]["two_stage.alpha2"] < BAD["alpha2"]
    assert "before 400.0; " in text
    assert "as good: " in text
    assert "held out" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trusted", "flags.csv"], "--trusted needs --reference"),
        (["--settle", "15"], "expected at least 24 s, of which the first 15 s are not scored"),
        (["--vary", "noise.torque=1:2"], "no parameter 'noise.torque' of tilt_observer"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(scene, tmp_path, refused, options, message):
    assert message in refused("tune", *given(scene, tmp_path / "out"), *options)
    assert not (tmp_path / "out").exists()
