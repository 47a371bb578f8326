"""Parameters of a dataclass and quality of service become ROS parameters that refuse what they must."""

from dataclasses import dataclass

import numpy as np
import pytest
import rclpy
import yaml
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy, QoSReliabilityPolicy

from inertial_estimation.configuration.config_file import load_configs
from inertial_estimation.errors import ConfigurationError
from inertial_estimation.parameters import iterate_parameters, parameter, section
from inertial_estimation.ros.parameters import NodeParameters, descriptor_from_spec


@dataclass(frozen=True)
class Gate:
    quantile: float = parameter(0.99, "Quantile.", lower=0.5, upper=1.0, runtime=True)


@dataclass(frozen=True)
class Config:
    rate: float = parameter(500.0, "Rate.", unit="Hz", lower=1.0)
    count: int = parameter(3, "Count.", lower=1, upper=9)
    links: tuple[str, ...] = parameter((), "Links.")
    mode: str = parameter("a", "Mode.", choices=("a", "b"), runtime=True)
    gains: tuple[float, ...] = parameter((1.0, 2.0), "Gains.", runtime=True, lower=0.0)
    gate: Gate = section(Gate)


@pytest.fixture
def make_node(context):
    nodes = []

    def make(*files, declared=False, **overrides):
        arguments = ["--ros-args", *(text for file in files for text in ("--params-file", str(file)))]
        given = [Parameter(name, value=value) for name, value in overrides.items()]
        node = rclpy.create_node(
            "n",
            context=context,
            parameter_overrides=given,
            start_parameter_services=False,
            cli_args=arguments if files else None,
            automatically_declare_parameters_from_overrides=declared,
        )
        nodes.append(node)
        return node

    yield make
    for node in nodes:
        node.destroy_node()


def test_every_parameter_is_declared_with_its_default(make_node):
    node = make_node()
    declared = NodeParameters(node, Config)
    assert declared.config == Config()
    for spec in iterate_parameters(Config):
        assert node.has_parameter(spec.name)
    assert node.get_parameter("gate.quantile").value == 0.99
    assert list(node.get_parameter("links").value) == [""]


def test_given_values_and_empty_lists_of_a_file_reach_the_config(make_node, tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text("n:\n  ros__parameters:\n    gains: []\n    links: []\n")
    given = {"rate": 200, "gate.quantile": 0.9, "use_sim_time": True}
    for node, links in ((make_node(path, **given), ()), (make_node(links=["arm"], **given), ("arm",))):
        config = NodeParameters(node, Config).config
        assert (config.rate, config.links, config.gate.quantile) == (200.0, links, 0.9)
        assert config.gains == ((1.0, 2.0) if links else ())
        assert node.get_parameter("rate").value == 200.0


def test_of_several_files_the_values_are_those_that_ros_takes(make_node, tmp_path):
    rng, named = np.random.default_rng(0), 0
    for case in range(30):
        files = [tmp_path / f"{case}_{k}.yaml" for k in range(int(rng.integers(1, 4)))]
        for file in files:
            order = rng.permutation(["/**", "n", "/n", "/**/n", "other", "/*"])[: rng.integers(1, 5)].tolist()
            content = {
                name: {"ros__parameters": dict.fromkeys("xyz"[: rng.integers(1, 4)], int(rng.integers(100)))}
                for name in order
                if name != "/n" or "n" not in order
            }
            file.write_text(yaml.safe_dump(content, sort_keys=False))
        node = make_node(*files, declared=True)
        taken = {name: node.get_parameter(name).value for name in "xyz" if node.has_parameter(name)}
        file = load_configs([str(file) for file in files])
        assert file.values("n", set("xyz")) == taken, [file.read_text() for file in files]
        named += file.has("n")
    assert named > 10


def test_parameters_of_another_node_are_passed_over(make_node):
    declared = NodeParameters(make_node(window=2.0, links=["leg"]), Config, {"links", "window"})
    assert declared.config.links == ("leg",)


def test_a_runtime_parameter_reaches_the_listener(make_node):
    node, changes = make_node(), []
    declared = NodeParameters(node, Config, on_change=lambda name, value: changes.append((name, value)))
    results = node.set_parameters(
        [Parameter("gate.quantile", value=1), Parameter("gains", value=[3, 4])]  # as `ros2 param set`
    )
    assert all(result.successful for result in results)
    assert changes == [("gate.quantile", 1.0), ("gains", (3.0, 4.0))]
    assert declared.config.gate.quantile == 1.0
    assert declared.config.gains == (3.0, 4.0)
    assert node.get_parameter("gate.quantile").type_ is Parameter.Type.DOUBLE
    assert node.get_parameter("gains").type_ is Parameter.Type.DOUBLE_ARRAY


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("gate.quantile", 1.5, "gate.quantile"),
        ("mode", "c", "one of: a, b"),
        ("gains", [1.0, -1.0], "at least 0"),
        ("gate.quantile", float("nan"), ""),
        ("rate", 100.0, "read-only"),
    ],
)
def test_a_bad_change_is_refused_with_the_reason(make_node, name, value, reason):
    node = make_node()
    declared = NodeParameters(node, Config)
    (result,) = node.set_parameters([Parameter(name, value=value)])
    assert not result.successful
    assert reason in result.reason
    assert declared.config == Config()


def test_a_change_the_pipeline_refuses_is_refused(make_node):
    in_force = {"gate.quantile": Gate().quantile}

    def refuse(name, value):
        if name == "mode":
            raise ConfigurationError("not while calibrating")
        in_force[name] = value

    node = make_node()
    declared = NodeParameters(node, Config, on_change=refuse)
    (result,) = node.set_parameters([Parameter("mode", value="b")])
    assert (result.successful, result.reason) == (False, "not while calibrating")
    assert node.get_parameter("mode").value == "a"
    assert declared.config.mode == "a"
    together = [Parameter("gate.quantile", value=0.5), Parameter("mode", value="b")]
    assert not node.set_parameters_atomically(together).successful
    assert in_force == {"gate.quantile": Gate().quantile}


def test_descriptors_carry_unit_range_choices_and_read_only():
    found = {spec.name: descriptor_from_spec(spec) for spec in iterate_parameters(Config)}
    assert "[Hz]" in found["rate"].description
    assert found["rate"].read_only
    assert not found["rate"].floating_point_range, "it has two ends, and the largest float is none"
    assert found["rate"].additional_constraints == "at least 1"
    quantiles = found["gate.quantile"].floating_point_range[0]
    assert (quantiles.from_value, quantiles.to_value) == (0.5, 1.0)
    assert (found["count"].integer_range[0].from_value, found["count"].integer_range[0].to_value) == (1, 9)
    assert not found["mode"].read_only
    assert "a, b" in found["mode"].additional_constraints


BEST_EFFORT, RELIABLE = QoSReliabilityPolicy.BEST_EFFORT, QoSReliabilityPolicy.RELIABLE
VOLATILE = QoSDurabilityPolicy.VOLATILE


def policies(infos):
    """Return reliability and durability of all."""
    return {(info.qos_profile.reliability, info.qos_profile.durability) for info in infos}


def test_a_node_takes_overrides_of_inputs_and_outputs(build, hopper, tmp_path):
    overrides = {
        "/imu/data": {"subscription": {"reliability": "reliable", "depth": 321}},
        "/tilt": {"publisher": {"reliability": "best_effort", "durability": "transient_local"}},
    }
    path = tmp_path / "qos.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": {"qos_overrides": overrides}}}))
    node = build("tilt_observer", "--params-file", str(path), **hopper)
    subscribed, published = node.get_subscriptions_info_by_topic, node.get_publishers_info_by_topic
    assert (RELIABLE, VOLATILE) in policies(subscribed("/imu/data"))
    assert (BEST_EFFORT, VOLATILE) in policies(subscribed("/joint_states"))
    assert (BEST_EFFORT, QoSDurabilityPolicy.TRANSIENT_LOCAL) in policies(published("/tilt"))
    assert (RELIABLE, VOLATILE) in policies(published("/base_orientation"))
