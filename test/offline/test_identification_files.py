"""Files of an identification say what was found and are never stale; its parameters come from one file."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.arm_robot import URDF
from support.identification_scene import CONFIG, made_up_run, moving_arm

import inertial_estimation as ie
from inertial_estimation.configuration.config_file import parse_overrides
from inertial_estimation.identification.identification_result import PayloadResult, RowError
from inertial_estimation.inputs.config import RobotConfig
from inertial_estimation.offline.identification_run import (
    check_split,
    friction_parameters,
    write_identification,
)
from inertial_estimation.offline.result_diagnostics import result_diagnostics

ROBOT = ie.RobotModel.from_urdf(URDF, floating_base=False)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text(CONFIG)
    return ie.identification_config(ie.load_config_file(path))


def test_json_holds_every_number_and_no_number_json_lacks(tmp_path, config):
    run = made_up_run()
    write_identification(tmp_path, run, config, ROBOT, {"bags": ["one"]})
    content = json.loads((tmp_path / "identification.json").read_text(), parse_constant=pytest.fail)
    method = content["methods"]["least-squares"]
    for p in run.result.parameters:
        written = method["parameters"][p.name]
        assert written["value"] == p.value
        assert written["nominal"] == p.nominal
        assert written["sigma"] == (p.sigma if np.isfinite(p.sigma) else None)
        assert written["identifiability"] == p.identifiability.value
    assert method["bodies"]["lower"]["violations"] == list(run.result.bodies[1].violations)
    numbers = {"row": "elbow", "rms": 0.9, "rms_nominal": 0.8, "rms_measured": 1.3}
    assert method["validation"]["elbow"] == numbers
    assert content["training"]["dropped"] == {"joint_states: not finite": 3}
    assert content["chosen"] == "least-squares"
    assert set(content["methods"]) == {"least-squares", "consistent"}
    assert content["bags"] == ["one"]


def test_friction_file_is_what_the_nodes_read(tmp_path, config):
    write_identification(tmp_path, made_up_run(), config, ROBOT, {})
    values = ie.load_config_file(tmp_path / "friction.yaml").shared
    robot = ie.build_config(RobotConfig, values)
    assert robot.nominal_friction.joints == ("shoulder", "elbow")
    assert robot.nominal_friction.terms == ("coulomb",)
    assert robot.nominal_friction.values == (0.312, -0.219), "to the second digit of sigma"
    for name in ("smoothing_speed", "presliding"):
        assert getattr(robot.nominal_friction, name) == getattr(config.robot.nominal_friction, name)


def test_friction_that_was_known_stays_where_nothing_was_identified(tmp_path):
    text = CONFIG.replace(
        "    floating_base: false",
        "    floating_base: false\n"
        "    nominal_friction: {joints: [elbow], terms: [coulomb, offset], values: [7.0, 8.0], "
        "smoothing_speed: 0.5}",
    )
    path = tmp_path / "robot.yaml"
    path.write_text(text)
    config = ie.identification_config(ie.load_config_file(path))
    found = friction_parameters({"shoulder/coulomb": 1.0, "shoulder/viscous": 2.0}, config, ROBOT)
    assert found["joints"] == ["shoulder", "elbow"]
    assert found["terms"] == ["coulomb", "viscous", "offset"]
    assert found["values"] == [1.0, 7.0, 2.0, 0.0, 0.0, 8.0]
    assert found["smoothing_speed"] == 0.5


CUP = ie.InertialParameters(1.0, np.zeros(3), 0.01 * np.eye(3))
LOAD = PayloadResult("lower", "cup", CUP, 0.4, np.full(3, 0.04), np.eye(3), ())
LARGE = (RowError("elbow", 0.56, 0.6, 1.1),)


@pytest.mark.parametrize(
    ("said", "result", "report", "instead"),
    [
        ("lower: mass -0.125 kg is not positive", {}, {}, {"bodies": ()}),
        ("least-squares: stopped", {"unfinished": "stopped"}, {}, {"unfinished": ""}),
        ("cup: too flat", {"payload": replace(LOAD, violations=("too flat",))}, {}, {"payload": LOAD}),
        ("no recording without the load", {"payload": LOAD}, {"unloaded": False}, {"payload": None}),
        ("two sigma away from zero (0.5", {"payload": replace(LOAD, mass_sigma=0.5)}, {}, {"payload": LOAD}),
        ("uncertain by 5 cm", {"payload": replace(LOAD, com_sigma=np.full(3, 0.05))}, {}, {"payload": LOAD}),
        ("costs 2.1 times as much", {"cost": 2.1}, {"cost_least_squares": 1.0}, {"cost": 2.0}),
        ("costs 2.1 times", {"cost": 2.1}, {"cost_least_squares": 1.0}, {"relative_error": 9e-5}),
        (
            "predicted 1.6 times worse",
            {"relative_error_validation": 0.0197},
            {},
            {"relative_error_validation": 0.0184},
        ),
        ("the nominal parameters are better", {"cost_validation": 44.1}, {}, {"cost_validation": 44.0}),
        ("'consistent' predicts other data better", {}, {}, {"relative_error_validation": 0.0327}),
        (
            "on the fitted data the error is over half of what was measured: elbow",
            {"direct": LARGE},
            {},
            {"direct": ()},
        ),
        ("on the other data the error is over half of what was measured: elbow", {}, {}, {"validation": ()}),
        ("of 6 parameters 4 are fixed by the data by themselves, 1 only in combination, 1 not", {}, {}, None),
        ("upper (2.00 to 5.25 kg)", {}, {}, {"bodies": ()}),
        ("below zero: elbow/coulomb", {}, {}, {"friction": {"elbow/coulomb": 0.0, "elbow/offset": -1.0}}),
        ("deviations are 1.5 times those of noise", {}, {"inflation": 2.25}, None),
        ("contains their errors: hand (--links", {}, {"held": ("hand",)}, None),
    ],
)
def test_what_speaks_against_a_result_is_said_and_not_where_it_does_not(said, result, report, instead):
    whole = made_up_run().report

    def sentences(changes, of_report):
        methods = {**whole.methods, whole.chosen: replace(whole.methods[whole.chosen], **changes)}
        return "\n".join(result_diagnostics(replace(whole, methods=methods, **of_report)))

    assert said in sentences(result, report)
    assert instead is None or said not in sentences({**result, **instead}, report)
    assert not report or said not in sentences(result, {"unloaded": True})


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
