"""The command check: what it prints and writes, and its exit code, by which a script can judge a bag."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from support.recorded_robots import recorded

from inertial_estimation.recordings.bag_writer import write_recording
from inertial_estimation.recordings.recording import MemoryRecording
from inertial_estimation.signals import JointReading

SIGNS = np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sound bag, and one in which the effort of panda_joint4 has the wrong sign."""
    place = tmp_path_factory.mktemp("check")
    sound = recorded("panda", 8.0).recording
    write_recording(sound, place / "sound")
    wrong = [
        replace(entry, sample=replace(entry.sample, effort=SIGNS * entry.sample.effort))
        if isinstance(entry.sample, JointReading)
        else entry
        for entry in sound.messages
    ]
    write_recording(MemoryRecording(tuple(wrong), sound.topics), place / "wrong")
    return place


def test_a_sound_bag_gives_0_and_the_results(folder, ran):
    output = folder / "results"
    assert "0 wrong" in ran("check", folder / "sound", "--config", "panda", "--output", output).out
    results = json.loads((output / "check.json").read_text())
    assert {"check", "subject", "verdict", "value", "unit", "sentence", "remedy"} == set(results[0])
    assert {result["verdict"] for result in results} <= {"ok", "cannot tell"}
    page = (output / "report.html").read_text()
    assert 'class="graph"' in page


def test_a_wrong_bag_gives_1_and_its_fix_makes_it_0(folder, ran):
    bag, fix = folder / "wrong", folder / "fix.yaml"
    assert "panda_joint4" in ran("check", bag, "--config", "panda", "--fix", fix, code=1).out
    values = yaml.safe_load(fix.read_text())["/**"]["ros__parameters"]
    assert values == {"drive_gains.joints": ["panda_joint4"], "drive_gains.values": [-1.0]}
    ran("check", bag, "--config", "panda", "--config", fix)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["no_such_bag", "--config", "panda"], "no_such_bag"),
        (["{sound}", "--config", "pandda"], "pandda"),
        (["{sound}", "--config", "panda", "--start", "100"], "--start"),
        (["{sound}", "--config", "panda", "--remap", "joint_states:=/other"], "/other"),
    ],
)
def test_what_cannot_be_used_gives_2_in_one_line(folder, refused, options, said):
    assert said in refused("check", *(one.format(sound=folder / "sound") for one in options), code=2)
