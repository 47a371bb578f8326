"""Launch files run for real, from an installation, over DDS; the launch packages are not on PyPI."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("launch.actions", reason="needs the ROS package launch")
pytest.importorskip("launch_ros.actions", reason="needs the ROS package launch_ros")

from geometry_msgs.msg import InertiaStamped, QuaternionStamped
from sensor_msgs.msg import JointState

from inertial_estimation.commands.main import main
from inertial_estimation.inputs.messages import stamp_from_msg

DURATION, RATE = 2.0, 200.0
SIDES = ("left", "right")
LONGEST = 600.0  # [s] of a wait: nodes of a new installation compile first
RUN_LAUNCH_FILE = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
file, *words = sys.argv[1:]
arguments = [tuple(word.split(":=", 1)) for word in words]
service = LaunchService()
source = PythonLaunchDescriptionSource(file)
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)])
)
sys.exit(service.run())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where the package is installed as colcon does it; or the prefix in INERTIAL_ESTIMATION_PREFIX."""
    if given := os.environ.get("INERTIAL_ESTIMATION_PREFIX"):
        return Path(given)
    folder = tmp_path_factory.mktemp("install")
    build = ["egg_info", "--egg-base", str(folder), "build", "--build-base", str(folder / "build")]
    install = ["install", "--prefix", str(folder / "prefix"), "--single-version-externally-managed"]
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", *build, *install]
    command += ["--record", str(folder / "record.txt")]
    subprocess.run(command, cwd=Path(__file__).resolve().parents[2], timeout=120, check=True)
    return folder / "prefix"


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("bag") / "talos"
    arguments = ["--duration", str(DURATION), "--rate", str(RATE), "--seed", "1"]
    assert main(["synthesize", "talos", "--output", str(path), *arguments]) == 0
    return path


class Launches:
    """Launch files and players of one test, in the domain of its world."""

    def __init__(self, world, installed):
        self.world = world
        self.folder = installed / "share" / "inertial_estimation" / "launch"
        packages = map(str, installed.glob("lib*/python*/*-packages"))
        self.environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(world.domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "OMP_NUM_THREADS": "1",
            "ROS_LOG_DIR": str(world.folder / "log"),
            "PYTHONPATH": os.pathsep.join([*packages, *filter(None, sys.path)]),
        }
        self.processes = []

    def run(self, name, log, *arguments):
        """Run a launch file; its output goes to a file."""
        command = [sys.executable, "-c", RUN_LAUNCH_FILE, str(self.folder / f"{name}.launch.py"), *arguments]
        with (self.world.folder / log).open("w") as output:
            process = subprocess.Popen(
                command,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.world.folder,
            )
        self.processes.append(process)
        return process

    def output(self, log):
        """What a process has printed."""
        return (self.world.folder / log).read_text()

    def ends(self, process, timeout=LONGEST):
        """Wait for a process while messages are taken; return its exit code."""
        assert self.world.run(lambda: process.poll() is not None, sensors=False, timeout=timeout)
        return process.returncode

    def stop(self, process):
        """End a launch as Ctrl-C does; return its exit code."""
        os.killpg(process.pid, signal.SIGINT)
        return self.ends(process)

    def close(self):
        """End everything this test started."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture
def launches(world, installed):
    found = Launches(world, installed)
    yield found
    found.close()


def test_a_replay_of_root_names_to_nodes_in_a_namespace_ends_by_itself(launches, bag, tmp_path):
    """The player publishes the recorded names, so the nodes are remapped to them; an old file goes along."""
    old = tmp_path / "old.yaml"
    old.write_text("tilt_observer:\n  ros__parameters: {world_frame: hall, rate: 100.0}\n")
    topics = ("imu/data", "joint_states", "left_foot/wrench", "right_foot/wrench")
    remap = ",".join(f"{topic}:=/{topic}" for topic in topics)
    orientations = launches.world.listen(QuaternionStamped, "/robot1/base_orientation", 1000)
    given = [f"bag:={bag}", "robot:=talos", f"params_file:={old}", "namespace:=robot1", f"remap:={remap}"]
    assert launches.ends(launches.run("replay", "launch.log", *given), timeout=LONGEST) == 0
    output = launches.output("launch.log")
    assert "played " in output
    assert "does not reach" not in output
    assert len(orientations) == pytest.approx((DURATION - 0.3) * 100, rel=0.2), "at the rate of the old file"
    assert {msg.header.frame_id for msg in orientations} == {"hall"}


def test_a_simulation_in_a_namespace_stands_on_remapped_topics(launches):
    world = launches.world
    commands = world.listen(JointState, "/robot1/joint_torque_commands", 1000)
    readings = world.listen(JointState, "/body/joint_states", 1000)
    given = ["robot:=talos", "namespace:=robot1", "remap:=ros2_control,joint_states:=/body/joint_states"]
    balls = [f"{{kind: ball, link: arm_{side}_5_link, mass: 0.5, at: [0, 0, 0.05]}}" for side in SIDES]
    given.append(f"disturbances:={'; '.join(balls)}")
    loads = {
        side: world.listen(InertiaStamped, f"/robot1/ground_truth/link_inertias/arm_{side}_5_link", 10)
        for side in SIDES
    }
    nodes = launches.run("simulation", "launch.log", *given, "real_time_factor:=0.0")
    assert world.run(lambda: len(commands) > 500 and len(readings) > 500, sensors=False, timeout=LONGEST), (
        launches.output("launch.log")
    )
    answered = {stamp_from_msg(msg.header.stamp) for msg in commands}
    common = answered & {stamp_from_msg(msg.header.stamp) for msg in readings}
    assert len(common) > 100, "commands answer the readings"
    assert all(loads.values()), "the ground truth of each loaded link is published"
    assert launches.stop(nodes) == 0


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("estimation", ["robot:=tallos"], "no parameter file 'tallos': not a file, and config/ has"),
        ("simulation", ["robot:=talos", "urdf:=nowhere.urdf"], "nowhere.urdf"),
        ("replay", ["robot:=talos", "bag:=/nowhere"], "no recording '/nowhere'"),
    ],
)
def test_what_is_wrong_ends_the_launch_with_one_line(launches, name, arguments, said):
    assert launches.ends(launches.run(name, "launch.log", *arguments)) == 1
    lines = [line for line in launches.output("launch.log").splitlines() if "rror" in line or said in line]
    assert any(said in line for line in lines), launches.output("launch.log")
    assert "Traceback" not in launches.output("launch.log")
