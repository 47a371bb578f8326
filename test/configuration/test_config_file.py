"""Parameter files are read as ROS reads them; mistakes are named."""

from pathlib import Path

import pytest

from inertial_estimation.configuration.config_file import ConfigFile, load_config_file, parse_overrides
from inertial_estimation.errors import ConfigurationError

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
    assert config.values("tilt_observer", known) == {
        "contacts": ["left", "right"],
        "inputs.timeout": 0.3,
        "rate": 200.0,
    }
    assert config.values("inertial_ekf", known)["inputs.timeout"] == 0.2
    assert config.has("inertial_ekf")
    assert not config.has("player")


def test_misspelt_shared_name_is_found(tmp_path: Path) -> None:
    config = load(tmp_path, "/**: {ros__parameters: {contcats: [a]}}")
    with pytest.raises(
        ConfigurationError, match=r"no parameter 'contcats' in section .* did you mean 'contacts'\?"
    ):
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
    config = load(tmp_path, GOOD).overridden(overrides)
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
