"""Clean data of robots that faults were not first mended on, and of a real recording.

Robots of example-robot-data as `inertial-estimation init` sets them up, the package's quadrupeds on a walk,
and, where the data sets are, an iCub that walks, whose truth is what its clean data give.
"""

import contextlib
import io
import os
from functools import cache, partial
from pathlib import Path

import numpy as np

import inertial_estimation as ie
from benchmarks.fault_campaign import scenes
from benchmarks.fault_campaign.scenes import FLOATING, JOINTS, SENSORS, WALK_S, Recorded, Scene
from inertial_estimation.commands.main import main as inertial_estimation
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.simulation.disturbances import Attachment, ball

ICUB = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", "../shared/datasets")) / "icub_walking"
ICUB_URDF = ICUB / "iCubGenova04.urdf"
ICUB_BEGIN_S = 20.0  # of the recording, when it walks [s]
G1 = ("left_elbow_link", "right_elbow_link")


def initialised(robot: str) -> str:
    """Return the parameter file that `init` writes for a robot of example-robot-data."""
    file = scenes.temporary_folder() / f"{robot}.yaml"
    if not file.is_file():
        with contextlib.redirect_stdout(io.StringIO()):
            inertial_estimation(["init", robot, "--no-trial", "--output", str(file)])
    return str(file)


def _walking(robot: str, walk: WalkCommand) -> Recorded:
    return scenes.walking(initialised(robot), walk)


def _g1() -> Recorded:
    """Let G1 bow and move its elbows, 1 kg on the left one."""
    load = Attachment(ball(G1[0], 1.0, (0.1, 0.0, 0.0)), start=0.0)
    joints = tuple(link.replace("_link", "_joint") for link in G1)
    return scenes.bowing(initialised("g1"), 12.0, joints, load=load, links=G1)


def _anymal() -> Recorded:
    """Let ANYmal bow, 4 kg on its trunk."""
    load = Attachment(ball("base_inertia", 4.0, (0.1, 0.05, 0.1)), start=0.0)
    return scenes.bowing(initialised("anymal"), 12.0, load=load, links=("base_inertia",))


def _arm(robot: str, rate_hz: float, link: str, load_kg: float) -> Recorded:
    """Let an arm that carries a load from the start move through its range, in closed form."""
    rng = np.random.default_rng(scenes.SEED)
    noise = scenes.RobotLoop(initialised(robot)).config("simulator", ie.SimulationConfig).sensors.noise
    shared = ie.load_config_file(initialised(robot)).shared
    description = {"urdf": str(shared["urdf"]), "locked_joints": shared.get("locked_joints", ())}
    load = {"payload_mass": load_kg, "payload_time_s": 0.0, "payload_link": link}
    timing = ie.Timing(duration_s=11.0, rate_hz=rate_hz, start_ns=scenes.START_NS)
    truth = ie.synthetic_truth("arm", timing, rng, **description, **load)
    return scenes.in_closed_form(truth, ie.measure(truth, noise, rng).messages, [link], rng)


def _icub() -> Recorded:
    """Take a part of the real recording."""
    named = ie.replay_topics({"imu_frame": "root", "contacts": ("left_foot", "right_foot")}, {})
    topics = [named.of("imu/data"), named.joints, *named.wrenches.values()]
    with ie.BagRecording(ICUB / "walk_front_back_2021") as recording:
        begin_ns = recording.start_ns + round(ICUB_BEGIN_S * NANOSECONDS)
        end_ns = begin_ns + 12 * NANOSECONDS
        entries = [e for e in recording.entries(topics, begin_ns) if e.log_ns < end_ns]
    messages = sorted(scenes.received(entries), key=lambda message: message.arrival_ns)
    chest = ie.RobotModel.from_urdf(ICUB_URDF.read_text()).link_body("chest").nominal_J.mass
    return Recorded(tuple(messages), np.zeros(0), np.zeros((0, 3)), {"chest": chest}, known=False)


OTHER_SOURCES: dict[str, scenes.Source] = {
    "g1_bowing": _g1,
    "anymal_loaded": _anymal,
    "anymal_trotting": partial(_walking, "anymal", WalkCommand(12, 0.06)),
    "go2_walking": partial(scenes.walking, "go2", WalkCommand(12, 0.04)),
    "hyq_walking": partial(scenes.walking, "hyq", WalkCommand(12, 0.05)),
    "ur5_loaded": partial(_arm, "ur5", 125.0, "wrist_3_link", 2.0),
    "icub": _icub,
}


@cache
def other_scenes() -> dict[str, Scene]:
    """Return the scenes by name; those of the recording where it is there."""
    g1, anymal, icub = initialised("g1"), initialised("anymal"), {"urdf": str(ICUB_URDF)}
    walks = (SENSORS, (0.0, 3.5, 5.0), WALK_S, ("imu",))
    carries = (scenes.ON_FEET, (0.0, 6.0, 7.0), 11.0, FLOATING)
    found = {
        "g1_bowing": Scene("tilt", g1, "g1_bowing", *walks),
        "anymal_trotting": Scene("tilt", anymal, "anymal_trotting", *walks),
        "go2_walking": Scene("tilt", "go2", "go2_walking", *walks),
        "hyq_walking": Scene("tilt", "hyq", "hyq_walking", *walks),
        "g1_arms": Scene("inertial", g1, "g1_bowing", *carries, {"links": G1}),
        "anymal_loaded": Scene("inertial", anymal, "anymal_loaded", *carries),
        "ur5_loaded": Scene("inertial", initialised("ur5"), "ur5_loaded", JOINTS, (0.0, 5.0), 11.0, JOINTS),
        "icub_tilt": Scene("tilt", "icub", "icub", *walks, icub),
        "icub_masses": Scene("inertial", "icub", "icub", SENSORS, (0.0, 5.0, 6.0), 11.0, SENSORS, icub),
    }
    return {name: scene for name, scene in found.items() if scene.robot != "icub" or ICUB.exists()}
