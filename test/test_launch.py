"""Launch files start what the parameter file configures, with the arguments given."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.scripts import script

pytest.importorskip("launch.actions", reason="needs the ROS package launch")
pytest.importorskip("launch_ros.actions", reason="needs the ROS package launch_ros")

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument


def load(name):
    return script(f"launch/{name}.launch.py")


def defaults(arguments):
    return {name: default for name, (default, _, _) in arguments.items() if default is not None}


def context(**given):
    estimation = load("estimation")
    found = LaunchContext()
    arguments = {**estimation.ARGUMENTS, **estimation.OWN_ARGUMENTS}
    found.launch_configurations.update({**defaults(arguments), **given})
    return found


REQUIRED = {"estimation": {"robot"}, "replay": {"robot", "bag"}, "simulation": set()}


@pytest.mark.parametrize("name", REQUIRED)
def test_every_argument_is_described(name):
    description = load(name).generate_launch_description()
    arguments = [item for item in description.entities if isinstance(item, DeclareLaunchArgument)]
    required = {item.name for item in arguments if not item.default_value}
    assert required == REQUIRED[name]
    assert all(item.description for item in arguments)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"robot": "talos"}, ["tilt_observer", "inertial_ekf"]),
        ({"robot": "panda"}, ["inertial_ekf"]),
        ({"robot": "talos", "nodes": "tilt_observer"}, ["tilt_observer"]),
        ({"robot": "hyq"}, ["tilt_observer", "inertial_ekf"]),
        ({"robot": "hyq", "trunk_inertia": "trunk_payload"}, ["tilt_observer", "trunk_payload"]),
        ({"robot": "go2", "trunk_inertia": "trunk_payload"}, ["tilt_observer", "trunk_payload"]),
        ({"robot": "hyq", "nodes": "trunk_payload, inertial_ekf"}, ["trunk_payload", "inertial_ekf"]),
    ],
)
def test_nodes_are_those_of_the_parameter_file(given, expected):
    nodes = load("estimation").start_nodes(context(**given))
    assert [node.node_executable for node in nodes] == expected
    assert {node.node_package for node in nodes} == {"inertial_estimation"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"robot": "tals"}, "'tals'.*talos"),
        ({"robot": "talos", "nodes": "tilt"}, "no node tilt; there are"),
        ({"robot": "talos", "trunk_inertia": "trunk_payload"}, "no section trunk_payload; .*'inertial_ekf'"),
    ],
)
def test_a_wrong_name_lists_what_exists(given, expected):
    with pytest.raises(RuntimeError, match=expected):
        load("estimation").start_nodes(context(**given))


def test_a_misspelt_argument_is_named_which_launch_ignores(monkeypatch):
    estimation, said = load("estimation"), []
    monkeypatch.setattr(estimation, "get_logger", lambda _name: SimpleNamespace(warning=said.append))
    estimation.start_nodes(context(robot="talos", namspace="robot1", of_another_launch="1"))
    assert said == ["no launch argument 'namspace', did you mean 'namespace'?"]


class RecordedNode:
    """Stands for launch_ros' Node, which hides what it was given."""

    def __init__(self, **given):
        self.given = given
        self.overrides = given["parameters"][-1]


def recorded(monkeypatch):
    """The launch file, whose nodes show what they were given."""
    estimation = load("estimation")
    monkeypatch.setattr(estimation, "Node", RecordedNode)
    return estimation


def topics_by_node(monkeypatch, **given):
    """Where the nodes publish what may concern the controller."""
    estimation = recorded(monkeypatch)
    outputs = {
        "inertial_ekf": ["link_inertias/trunk", "link_inertias/arm"],
        "trunk_payload": ["trunk_inertia", "hold", "base_reference"],
    }
    nodes = {node.given["name"]: node for node in estimation.start_nodes(context(robot="hyq", **given))}
    return {
        name: [dict(nodes[name].given["remappings"]).get(topic, topic) for topic in topics]
        for name, topics in outputs.items()
        if name in nodes
    }


@pytest.mark.parametrize("source", ["inertial_ekf", "trunk_payload"])
def test_the_controller_hears_of_the_trunk_and_is_held_by_one_node_only(monkeypatch, source):
    heard = {"link_inertias/trunk", "hold", "base_reference"}
    topics = topics_by_node(monkeypatch, trunk_inertia=source, nodes="inertial_ekf,trunk_payload")
    by = {name: heard & set(published) for name, published in topics.items()}
    expected = {"inertial_ekf": {"link_inertias/trunk"}, "trunk_payload": heard}
    assert by == {name: expected[name] if name == source else set() for name in by}
    assert len(by) == 2
    assert topics["inertial_ekf"][1] == "link_inertias/arm", "of other links it is the source in any case"


def test_a_trunk_without_a_name_is_said(monkeypatch, tmp_path):
    file = tmp_path / "robot.yaml"
    file.write_text("trunk_payload: {ros__parameters: {load_change: 0.05}}")
    with pytest.raises(RuntimeError, match="no parameter 'trunk'"):
        load("estimation").start_nodes(context(robot=str(file)))


def player_of(**given):
    replay = load("replay")
    found = context(**{**defaults(replay.OWN_ARGUMENTS), **given})
    player, _at_exit = replay.start_player(found)
    return [found.perform_substitution(part) for word in player.cmd for part in word]


@pytest.mark.parametrize(
    ("code", "shutdown", "fails"),
    [(0, False, False), (2, False, True), (1, False, False), (-9, False, False), (2, True, False)],
)
def test_a_node_that_cannot_start_ends_the_launch_and_one_that_fails_later_does_not(code, shutdown, fails):
    found = context()
    found._set_is_shutdown(shutdown)
    event = SimpleNamespace(returncode=code, process_name="tilt_observer-1")
    with pytest.raises(RuntimeError, match="tilt_observer-1 cannot start") if fails else nullcontext():
        load("estimation").check_ended(event, found)


@pytest.mark.parametrize(
    ("code", "shutdown", "fails"), [(0, False, False), (1, False, True), (-2, True, False)]
)
def test_a_player_that_fails_fails_the_launch(code, shutdown, fails):
    found = context()
    found._set_is_shutdown(shutdown)
    with pytest.raises(RuntimeError, match="code 1") if fails else nullcontext():
        assert load("replay").ended(SimpleNamespace(returncode=code), found) is not None


def test_a_node_is_either_checked_at_its_end_or_started_again(monkeypatch):
    estimation = recorded(monkeypatch)
    for respawn, expected in (("false", estimation.check_ended), ("true", None)):
        nodes = estimation.start_nodes(context(robot="talos", respawn=respawn))
        assert [node.given["on_exit"] for node in nodes] == [expected] * 2


@pytest.mark.parametrize(("robot", "nodes"), [("icub", "2"), ("panda", "1"), ("hyq", "2")])
def test_replay_plays_the_bag_once_the_nodes_listen_and_ends_after_it(robot, nodes):
    words = player_of(bag="/data/bag", rate="2.0", robot=robot)
    assert words[words.index("play") + 1] == "/data/bag"
    assert words[words.index("--rate") + 1] == "2.0"
    assert words[words.index("--subscribers") + 1] == nodes
    assert "--loop" not in words
    words = player_of(bag="/data/bag", robot=robot, loop="true", nodes="tilt_observer")
    assert "--loop" in words
    assert words[words.index("--subscribers") + 1] == "1"


def simulation_nodes(monkeypatch, **given):
    simulation = load("simulation")
    monkeypatch.setattr(simulation.estimation, "Node", RecordedNode)
    monkeypatch.setattr(simulation, "OnProcessExit", lambda **_given: None)
    monkeypatch.setattr(simulation, "RegisterEventHandler", lambda handler: handler)
    found = LaunchContext()
    found.launch_configurations.update({**defaults(simulation.ARGUMENTS), **given})
    estimators, simulator, controller, _at_exit = simulation.start_nodes(found)
    assert (simulator.given["executable"], controller.given["executable"]) == NODES_OF_SIMULATION
    arguments = dict(estimators.launch_arguments)
    assert arguments["use_sim_time"] == "true"
    assert set(arguments) == {*load("estimation").ARGUMENTS, "use_sim_time"}
    return simulator, controller, arguments


NODES_OF_SIMULATION = ("simulator", "whole_body_controller")


def test_simulation_runs_in_lockstep_on_the_estimates_unless_told_otherwise(monkeypatch):
    simulator, controller, estimators = simulation_nodes(monkeypatch)
    assert simulator.overrides == {"lockstep": True, "real_time_factor": 1.0}
    assert controller.overrides == {"use_sim_time": True, "trigger": "arrival"}
    assert estimators["trigger"] == "arrival"
    assert [Path(file).stem for file in simulator.given["parameters"][:-1]] == ["talos"]
    given = {"lockstep": "false", "adaptation": "false", "real_time_factor": "0.5"}
    given["params_file"] = "payload_demo"
    simulator, controller, estimators = simulation_nodes(monkeypatch, **given)
    assert simulator.overrides == {"lockstep": False, "real_time_factor": 0.5}
    assert controller.overrides == {"use_sim_time": True, "inertias.applied": False}
    assert estimators["trigger"] == ""
    assert [Path(file).stem for file in controller.given["parameters"][:-1]] == ["talos", "payload_demo"]


def test_a_trigger_that_is_given_goes_to_every_node_but_the_simulator(monkeypatch):
    simulator, controller, estimators = simulation_nodes(monkeypatch, trigger="timer")
    assert "trigger" not in simulator.overrides
    assert controller.overrides["trigger"] == estimators["trigger"] == "timer"
    estimation = recorded(monkeypatch)
    for trigger, expected in (("", None), ("arrival", "arrival")):
        nodes = estimation.start_nodes(
            context(robot="hyq", nodes="tilt_observer,inertial_ekf", trigger=trigger)
        )
        assert [node.overrides.get("trigger") for node in nodes] == [expected] * 2


def test_all_nodes_are_remapped_and_the_simulator_too(monkeypatch):
    given = {"remap": "ros2_control,joint_states:=/robot/joint_states", "namespace": "robot1"}
    simulator, controller, estimators = simulation_nodes(monkeypatch, robot="hyq", **given)
    assert estimators["namespace"] == "robot1"
    given["remap"] = estimators["remap"]
    estimation = recorded(monkeypatch)
    nodes = estimation.start_nodes(context(robot="hyq", **given))
    for node in (simulator, controller, *nodes):
        rules = dict(node.given["remappings"])
        assert rules["imu/data"] == "imu_sensor_broadcaster/imu"
        assert rules["lf_foot/wrench"] == "lf_foot_force_torque_sensor_broadcaster/wrench"
        assert rules["joint_states"] == "/robot/joint_states"
        assert rules["/clock"] == "clock", "that of the namespace"
        assert node.given["namespace"] == "robot1"
