"""Parameter files are read as ROS reads them; mistakes are named; values checked once; URDFs are found."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import inertial_estimation as ie
from inertial_estimation.configuration.config_file import ConfigFile, load_config_file, parse_overrides
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import ConfigurationError, MeasurementError, ModelError, did_you_mean
from inertial_estimation.files.yaml_file import load_yaml
from inertial_estimation.parameters import build_config, parameter, replace_value, section
from inertial_estimation.signals import ImuSample, JointReading, OrientationSample, WrenchSample
from inertial_estimation.tilt.config import TiltPipelineConfig

GOOD = """
/**:
  ros__parameters:
    contacts: [left, right]
    use_sim_time: true
    inputs: {timeout: 0.2}
tilt_observer:
  ros__parameters:
    rate: 200.0
    inputs.timeout: 0.3
/inertial_ekf:
  ros__parameters:
"""


def load(tmp_path: Path, text: str) -> ConfigFile:
    (tmp_path / "robot.yaml").write_text(text)
    return load_config_file(tmp_path / "robot.yaml")


def test_shared_values_under_the_nodes_own(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    known = {"contacts", "inputs.timeout", "rate"}
    expected = {"contacts": ["left", "right"], "inputs.timeout": 0.3, "rate": 200.0}
    assert config.values("tilt_observer", known) == expected
    assert config.values("inertial_ekf", known)["inputs.timeout"] == 0.2
    assert config.has("inertial_ekf")
    assert not config.has("player")


def test_misspelt_shared_name_is_found(tmp_path: Path) -> None:
    config = load(tmp_path, "/**: {ros__parameters: {contcats: [a]}}")
    with pytest.raises(ConfigurationError, match=r"no parameter 'contcats' in .* did you mean 'contacts'\?"):
        config.check_shared(["contacts", "rate"])


@pytest.mark.parametrize("text", ["1e3", "1E+3", "1.e3", "1.0e3", "10000e-1"])
def test_exponents_are_numbers_as_in_ros(tmp_path: Path, text: str) -> None:
    config = load(tmp_path, f"tilt_observer: {{ros__parameters: {{rate: {text}, gains: [{text}]}}}}")
    assert config.nodes["tilt_observer"] == {"rate": 1000.0, "gains": [1000.0]}
    assert parse_overrides([f"tilt_observer.rate={text}"]) == [("tilt_observer", "rate", 1000.0)]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("tilt_observr", r"no node 'tilt_observr'.*did you mean 'tilt_observer'\?"),
        ("camera", r"no section for tilt_observer or inertial_ekf; it has camera"),
    ],
)
def test_a_file_without_a_section_of_the_nodes_is_refused(tmp_path: Path, node: str, message: str) -> None:
    config = load(tmp_path, f"{node}: {{ros__parameters: {{}}}}")
    with pytest.raises(ConfigurationError, match=message):
        config.check_nodes(["tilt_observer", "inertial_ekf"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2", "not valid YAML"),
        ("", "no ROS parameter file"),
        ("just words", "no ROS parameter file"),
        ("tilt_observer: {rate: 3}", "holds rate, expected 'ros__parameters'"),
        ("tilt_observer: 3", "holds 3, expected 'ros__parameters'"),
        ("tilt_observer: {ros__parameters: [1]}", r"is \[1\], expected"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load(tmp_path, text)


def test_overrides_take_precedence(tmp_path: Path) -> None:
    overrides = parse_overrides(
        ["tilt_observer.rate=100.0", "inertial_ekf.links=[a, b]", "/**.imu_frame=imu"]
    )
    last = "/**: {ros__parameters: {rate: 50.0}}"  # behind the node's own
    config = load(tmp_path, GOOD.replace("/**:", "/*:") + last).overridden(overrides)
    known = {"rate", "links", "imu_frame"}
    assert config.values("tilt_observer", known)["rate"] == 100.0
    assert config.values("inertial_ekf", known)["links"] == ["a", "b"]
    assert config.values("tilt_observer", known)["imu_frame"] == "imu"


@pytest.mark.parametrize("text", ["rate=3", "tilt_observer.rate", "=3", ".a=3"])
def test_malformed_override(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected node.name=value"):
        parse_overrides([text])


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        *(
            (f"{section}: {{ros__parameters: {{rate: 100.0}}}}", {"tilt_observer": {"rate": 100.0}})
            for section in ("tilt_observer", "/tilt_observer", "/**/tilt_observer", "/*/tilt_observer")
        ),
        ("robot1: {a: {ros__parameters: {rate: 100.0}}}", {"a": {"rate": 100.0}}),
        ("/**/a: {ros__parameters: {x: 1, y: 1}}\n/r/a: {ros__parameters: {x: 2}}", {"a": {"x": 2, "y": 1}}),
    ],
)
def test_a_section_counts_for_its_node_in_whatever_namespace(tmp_path, text, nodes):
    assert load(tmp_path, text).nodes == nodes


def test_sections_of_two_robots_are_refused(tmp_path):
    text = "/robot1/a: {ros__parameters: {x: 1}}\n/robot2/a: {ros__parameters: {x: 2}}"
    with pytest.raises(ConfigurationError, match="'/robot1/a' and '/robot2/a', expected one robot's"):
        load(tmp_path, text)


BOMB = "a: &a [1]\n" + "".join(
    f"{n}: &{n} [{', '.join([f'*{p}'] * 9)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "recursive alias": ("a: &x [*x]", "line 1: the alias '\\*x'"),
    "alias bomb": (BOMB, "line 2: the alias '\\*a'"),
    "nested lists": ("[" * 3000, "nesting|recursion|depth"),
    "nested mappings": ("{a: " * 3000, "nesting|recursion|depth"),
    "huge integer": ("b: 1\na: 1" + "0" * 400, "line 2: '1000.*is no integer within"),
    "longer integer": ("a: " + "7" * 5000, "line 1: '777.*is no integer within"),
    "huge float": ("a: 1e400", "line 1: '1e400' is no number within"),
    "python object": ("a: !!python/object:os.system ls", "line 1: .* tag .*python"),
    "unknown tag": ("a: !secret x", "line 1: .* tag '!secret'"),
    "bad number": ("a: !!int x", "line 1: 'x' is no integer"),
    "repeated key": ("a: 1\nb: 2\na: 3", "line 3: the key 'a' is there a second time, first in line 1"),
    "list as key": ("? [1]\n: b", "line 1: a list or mapping as a key"),
    "zero byte": ("b: 1\na: \x00", "not valid YAML: .*(control|special) characters"),
    "unfinished": ("a: [1, 2", "line [12]: not valid YAML"),
    "two documents": ("a: 1\n---\nb: 2", "line 2: not valid YAML"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_texts_are_refused_with_their_line(case: str) -> None:
    text, message = HOSTILE[case]
    with pytest.raises(ConfigurationError, match=message) as refusal:
        load_yaml(text, "the file")
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "config").glob("*.yaml")), ids=lambda p: p.stem
)
def test_parameter_files_mean_what_they_mean_to_pyyaml(path: Path) -> None:
    text = path.read_text()
    assert load_yaml(text, str(path)) == yaml.safe_load(text)


def test_words_that_yaml_turns_into_dates_and_times_stay_words_as_in_ros() -> None:
    assert load_yaml("[2001-13-45, 1:30, 1_000, 017, 0x1F, 99999999999999999999]", "it") == [
        *("2001-13-45", "1:30", "1_000"),
        *(15, 31, 1e20),
    ]


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="a:-[]{}&*!?|>'\"%@#,\n\t 0e.", max_size=60)))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        value = load_yaml(text, "it")
    except ConfigurationError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert load_yaml(yaml.safe_dump(json.loads(json.dumps(value))), "it") == value or "nan" in repr(value)
    assert refusal.isprintable()


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(ConfigurationError, match="no regular file"):
            load_config_file(path)


def test_a_wrong_value_is_named_with_its_line(tmp_path: Path) -> None:
    shared = "/**:\n  ros__parameters:\n    contacts: [a, {b: 1}]\n"
    file = load(tmp_path, f"{shared}tilt_observer:\n  ros__parameters:\n    rate: 3\n")
    values, origins = file.values("tilt_observer", {"contacts"}), file.origins_of("tilt_observer")
    said = r"entry 2 of parameter 'contacts' is \{'b': 1\}.*robot.yaml', line 3"
    with pytest.raises(ConfigurationError, match=said):
        build_config(TiltPipelineConfig, values, origins=origins)


URDF = "<robot name='r'><link name='base'/></robot>"


def test_a_possible_description_as_text_or_by_its_path_absolute_or_beside_the_parameter_file(tmp_path):
    assert read_urdf("\n " + URDF) == "\n " + URDF
    (tmp_path / "r.urdf").write_text(URDF)
    assert read_urdf(str(tmp_path / "r.urdf")) == URDF
    assert read_urdf("r.urdf", folder=tmp_path) == URDF
    (tmp_path / "r.urdf").write_text(URDF.replace("/>", "><inertial><mass value='-1'/></inertial></link>"))
    with pytest.raises(ModelError, match=r"r\.urdf.*mass"):
        read_urdf("r.urdf", folder=tmp_path)


def test_a_description_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "share" / "my_robot" / "urdf"
    folder.mkdir(parents=True)
    (folder / "r.urdf").write_text(URDF)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert read_urdf("package://my_robot/urdf/r.urdf") == URDF
    with pytest.raises(ModelError, match=r"no file 'package://my_robot/none.urdf'; looked for"):
        read_urdf("package://my_robot/none.urdf")


def test_a_missing_description_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no robot description 'none.urdf'; looked in /[^ ]+ and /[^ ]+$"):
        read_urdf("none.urdf", folder=tmp_path)
    with pytest.raises(ModelError, match="pass --urdf"):
        read_urdf("")


def test_a_description_of_example_robot_data() -> None:
    pytest.importorskip("example_robot_data")
    text = read_urdf("example-robot-data:panda")
    assert "panda_link7" in text
    assert read_urdf("example-robot-data:panda_description/urdf/panda.urdf") == text
    with pytest.raises(ModelError, match=r"no robot 'hal' in example-robot-data; it has .*panda"):
        read_urdf("example-robot-data:hal")


@dataclass(frozen=True)
class Gate:
    quantile: float = parameter(0.999, "Quantile of the gate.", lower=0.5, upper=0.999999, runtime=True)


@dataclass(frozen=True)
class Shared:
    contacts: tuple[str, ...] = parameter((), "Contacts.")
    mode: str = parameter("a", "Mode.", choices=("a", "b"))


@dataclass(frozen=True)
class Config:
    rate: float = parameter(500.0, "Rate.", unit="Hz", lower=1.0, upper=1e4)
    window: int = parameter(5, "Window.", lower=1)
    on: bool = parameter(True, "On.")
    gains: tuple[float, ...] = parameter((1.0, 2.0), "Gains.", lower=0.0)
    offsets: tuple[float, ...] = parameter((), "Offsets.")
    gate: Gate = section(Gate)
    shared: Shared = section(Shared, prefix="")


def test_values_round_trip():
    config = ie.build_config(Config, {"rate": 100, "gate.quantile": 0.9, "contacts": ["l", "r"], "mode": "b"})
    assert config.rate == 100.0
    assert isinstance(config.rate, float)
    assert config.shared.contacts == ("l", "r")
    assert ie.build_config(Config, ie.parameter_values(config)) == config


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"gate.quantil": 0.9}, ["gate.quantil", "did you mean 'gate.quantile'"]),
        ({"rate": 0.0}, ["rate", "0.0", "[1, 10000] Hz"]),
        ({"rate": float("nan")}, ["rate", "finite"]),
        ({"rate": "fast"}, ["'fast'", "a number"]),
        ({"rate": True}, ["True", "a number"]),
        ({"window": 2.5}, ["2.5", "whole number"]),
        ({"on": 1}, ["1", "true or false"]),
        ({"mode": "c"}, ["'c'", "a, b"]),
        ({"contacts": "l"}, ["'l'", "list"]),
        ({"contacts": ["l", 2]}, ["mixes"]),
        ({"contacts": [1.0, 2.0]}, ["contacts", "expected strings"]),
        ({"offsets": ["x"]}, ["offsets", "expected numbers"]),
        ({"gains": [1.0, -1.0]}, ["-1.0", "at least 0"]),
        ({"gains": ["x"]}, ["('x',)"]),
    ],
)
def test_bad_values_are_named_with_what_was_expected(values, words):
    with pytest.raises(ie.ConfigurationError) as error:
        ie.build_config(Config, values, where="robot.yaml")
    for word in [*words, "robot.yaml"]:
        assert word in str(error.value)


def test_all_violations_are_listed_at_once():
    with pytest.raises(ie.ConfigurationError, match=r"2 bad parameter.*rate.*window"):
        ie.build_config(Config, {"rate": -1.0, "window": "x"})


def test_ros_writes_an_empty_list_as_one_empty_string():
    assert ie.build_config(Config, {"contacts": [""]}).shared.contacts == ()


def test_replacing_one_value_leaves_the_rest():
    config = ie.build_config(Config, {"window": 7})
    changed = replace_value(config, "gate.quantile", 0.75)
    assert (changed.gate.quantile, changed.window) == (0.75, 7)
    with pytest.raises(ie.ConfigurationError):
        replace_value(config, "gate.quantile", 2.0)


LINKS = ["base_link", "LeftFoot", "left_foot_imu_frame", "head"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("base_lnik", "base_link"), ("leftfoot", "LeftFoot"), ("imu", "left_foot_imu_frame"), ("HEAD", "head")],
)
def test_nearest_name_is_asked_for(given: str, meant: str) -> None:
    assert did_you_mean(given, LINKS, "the model has") == f", did you mean '{meant}'?"


def test_without_a_near_name_a_bounded_number_is_listed() -> None:
    end = did_you_mean("zzz", [f"link{i}" for i in range(40)], "the model has", limit=3)
    assert end == "; the model has link0, link1, link2, ... (37 more)"
    assert did_you_mean("", [], "it has") == "; it has none"


def test_arrays_are_copied_in_and_read_only():
    force = np.ones(3)
    sample = ImuSample(0, force, np.zeros(3))
    force[0] = 5.0
    assert sample.specific_force_I[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        sample.specific_force_I[0] = 2.0


@pytest.mark.parametrize(
    "build",
    [
        lambda: ImuSample(0, np.zeros(2), np.zeros(3)),
        lambda: WrenchSample(0, np.zeros(3)),
        lambda: OrientationSample(0, np.zeros(3)),
        lambda: JointReading(0, ("a", "b"), np.zeros(3)),
        lambda: JointReading(0, ("a", "b"), np.zeros(2), np.zeros(1)),
    ],
)
def test_a_wrong_shape_is_refused_with_both_shapes(build):
    with pytest.raises(MeasurementError, match=r"shape .* expected"):
        build()
