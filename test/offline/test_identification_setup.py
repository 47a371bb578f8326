"""Parameters of an identification come from the sections of one file in their order; bad data are refused."""

from pathlib import Path

import pytest
from support.identification_scene import CONFIG, moving_arm

import inertial_estimation as ie
from inertial_estimation.configuration.config_file import parse_overrides
from inertial_estimation.offline.identification_setup import check_split


def file_of(tmp_path: Path, text: str):
    path = tmp_path / "robot.yaml"
    path.write_text(text)
    return ie.load_config_file(path)


def test_sections_go_over_one_another_and_links_of_the_filter_are_not_taken(tmp_path):
    text = """
/**: {ros__parameters: {urdf: a.urdf, floating_base: false, torque_rows: [a]}}
inertial_ekf:
  ros__parameters:
    links: [lower]
    rate: 100.0
    torque_rows: [b]
    contact_wrenches: none
    friction: {joints: [elbow], terms: [offset], share: 0.05}
    nominal_friction: {smoothing_speed: 0.1}
identification:
  ros__parameters: {friction: {terms: [viscous]}, smoothing: {window: 0.3}, torque_rows: [c]}
"""
    config = ie.identification_config(file_of(tmp_path, text))
    assert config.robot.urdf == "a.urdf"
    assert config.links == ()
    assert config.rows.torque_rows == ("c",)
    assert config.rows.contact_wrenches == "none"
    assert config.friction.joints == ("elbow",)
    assert config.friction.terms == ("viscous",)
    assert config.robot.nominal_friction.smoothing_speed == 0.1
    assert config.smoothing.window == 0.3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("window:", "windw:", "did you mean 'smoothing.window'"),
        ("identification:", "identificaton:", "did you mean 'identification'"),
        ("contact_wrenches:", "contact_wrench:", "did you mean 'contact_wrenches'"),
        ("floating_base:", "floating:", "did you mean 'floating_base'"),
        ("window: 0.1", "window: 9.0", "window' is 9.0, expected a value in"),
    ],
)
def test_misspelt_names_and_bad_values_are_told(tmp_path, old, new, message):
    with pytest.raises(ie.ConfigurationError, match=message.replace("[", r"\[")):
        ie.identification_config(file_of(tmp_path, CONFIG.replace(old, new)))


def test_overrides_and_remappings_reach_the_identification(tmp_path):
    file = file_of(tmp_path, CONFIG).overridden(parse_overrides(["identification.links=[upper]"]))
    config = ie.identification_config(file)
    assert config.links == ("upper",)
    topics = ie.identification_topics(config, {"/joint_states": "/arm/joint_states"})
    assert topics.joints == "/arm/joint_states"


def test_a_split_lies_within_the_recording():
    recording = moving_arm(duration_s=2.0)
    check_split(recording, 1.0)
    for split_s in (-1.0, 0.0, 2.0, 100.0):
        with pytest.raises(ie.ConfigurationError, match=r"--split is .* expected a time within .*0 to 2.0 s"):
            check_split(recording, split_s)
