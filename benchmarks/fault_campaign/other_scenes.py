"""Clean data of robots that were not looked at when faults were first mended, and of real recordings.

Robots of example-robot-data as `inertial-estimation init` sets them up, synthetic or in the closed loop, the
package's quadrupeds on a walk, and, where the data sets are, an iCub that walks and a Panda.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.check_made_scenes import Conditions, moving_robot
from benchmarks.fault_campaign.feed import Feed
from benchmarks.fault_campaign.outputs import ADAPTERS
from benchmarks.fault_campaign.readings import Reading
from benchmarks.fault_campaign.scenes import (
    INIT,
    SENSORS,
    START_NS,
    WALK_S,
    Recorded,
    Scene,
    build_pipeline,
    received,
    recorded_truth,
    walking,
)
from inertial_estimation.configuration.pipelines import replay_topics
from inertial_estimation.control.references import WalkCommand
from inertial_estimation.recordings.recording import BagRecording
from inertial_estimation.replay.replay import required_topics
from inertial_estimation.signals import NANOSECONDS
from inertial_estimation.simulation.payload import ball
from inertial_estimation.synthetic.synthetic_truth import Payload

DATASETS = Path(os.environ.get("INERTIAL_ESTIMATION_DATASETS", "../shared/datasets"))
ICUB_BAG = DATASETS / "icub_walking" / "walk_front_back_2021"
ICUB_URDF = DATASETS / "icub_walking" / "iCubGenova04.urdf"
ICUB_BEGIN_S = 20.0  # of the recording, when it walks [s]

OTHER_SCENES: dict[str, Scene] = {
    "g1_swaying": Scene("tilt", f"{INIT}g1", "g1_swaying", SENSORS, (0.0, 2.5, 4.0), 10.0, {}),
    "anymal_trotting": Scene(
        "tilt", f"{INIT}anymal", "anymal_trotting", SENSORS, (0.0, 3.5, 5.0), WALK_S, {}
    ),
    "go2_walking": Scene("tilt", "go2", "go2_walking", SENSORS, (0.0, 3.5, 5.0), WALK_S, {}),
    "hyq_walking": Scene("tilt", "hyq", "hyq_walking", SENSORS, (0.0, 3.5, 5.0), WALK_S, {}),
    "g1_arms": Scene(
        "inertial",
        f"{INIT}g1",
        "g1_swaying",
        (*SENSORS, "base_state"),
        (0.0, 6.0, 7.0),
        12.0,
        {"links": ("left_elbow_link", "right_elbow_link")},
    ),
    "anymal_loaded": Scene(
        "inertial", f"{INIT}anymal", "anymal_loaded", (*SENSORS, "base_state"), (0.0, 6.0, 7.0), 12.0, {}
    ),
    "ur5_loaded": Scene("inertial", f"{INIT}ur5", "ur5_loaded", ("joints",), (0.0, 5.0, 6.0), 11.0, {}),
    "kinova_loaded": Scene(
        "inertial", f"{INIT}kinova", "kinova_loaded", ("joints",), (0.0, 5.0, 6.0), 11.0, {}
    ),
}
if ICUB_BAG.exists():
    OTHER_SCENES |= {
        "icub_tilt": Scene(
            *("tilt", "icub", "icub_tilt", SENSORS, (0.0, 3.0, 4.5), 10.0, {}, str(ICUB_URDF)),
        ),
        "icub_masses": Scene(
            *("inertial", "icub", "icub_masses", SENSORS, (0.0, 5.0, 6.0), 11.0, {}, str(ICUB_URDF)),
        ),
    }


def _moving(
    robot: str,
    conditions: Conditions,
    load: tuple[str, float, tuple[float, float, float]],
    others: tuple[str, ...] = (),
) -> Recorded:
    """Let a robot that has carried a load from the start move; the load's link and others are judged."""
    link, mass, com = load
    payload = Payload(ball(link, mass, com), 0.0)
    moving = moving_robot(robot, conditions, length_s=12.0, load=payload, start_ns=START_NS)
    messages = moving.recording().messages
    return recorded_truth(moving.truth, messages, (link, *others), moving.rng)


def _icub(scene: str) -> Recorded:
    """Return a part of the real recording; what the clean data give is taken as the truth."""
    topics = replay_topics({"imu_frame": "root", "contacts": ("left_foot", "right_foot")}, {})
    with BagRecording(ICUB_BAG) as recording:
        wanted = required_topics(recording, topics, use_base_state=False)
        begin_ns = recording.start_ns + round(ICUB_BEGIN_S * NANOSECONDS)
        end_ns = begin_ns + 12 * NANOSECONDS
        entries = [e for e in recording.entries(wanted, begin_ns) if e.log_ns < end_ns]
    readings = received(entries)
    readings.sort(key=lambda reading: reading.arrival_ns)
    return _own_truth(scene, readings)


def _own_truth(scene: str, readings: list[Reading]) -> Recorded:
    """Take the estimates from clean data as the truth, as all there is of a real robot."""
    unknown = Recorded(tuple(readings), np.zeros(0), np.zeros((0, 3)), {})
    adapter = ADAPTERS[OTHER_SCENES[scene].pipeline](build_pipeline(OTHER_SCENES[scene]), unknown)
    feed = Feed(adapter)
    feed.run(readings)
    made = [put.kept for put in feed.record.puts]
    if OTHER_SCENES[scene].pipeline == "tilt":
        stamps = np.array([result.state.stamp_ns for result in made])
        return Recorded(tuple(readings), stamps, np.array([adapter.estimate(r) for r in made]), {})
    masses = {link.published.link: link.published.mass for link in made[-1].links}
    return Recorded(tuple(readings), np.zeros(0), np.zeros((0, 3)), masses)


OTHER_SOURCES: Mapping[str, Callable[[], Recorded]] = {
    "g1_swaying": lambda: _moving(
        *("g1", Conditions(250.0, 1.0, 0.0), ("left_elbow_link", 1.0, (0.1, 0.0, 0.0))),
        ("right_elbow_link",),
    ),
    "anymal_loaded": lambda: _moving(
        "anymal", Conditions(250.0, 1.0, 0.0), ("base_inertia", 4.0, (0.1, 0.05, 0.1))
    ),
    "ur5_loaded": lambda: _moving("ur5", Conditions(125.0, 1.0, 0.0), ("wrist_3_link", 2.0, (0.0, 0.0, 0.1))),
    "kinova_loaded": lambda: _moving(
        "kinova", Conditions(100.0, 1.0, 0.0), ("j2s6s200_link_6", 1.0, (0.0, 0.0, -0.1))
    ),
    "anymal_trotting": lambda: walking(f"{INIT}anymal", WalkCommand(12, 0.06)),
    "go2_walking": lambda: walking("go2", WalkCommand(12, 0.04)),
    "hyq_walking": lambda: walking("hyq", WalkCommand(12, 0.05)),
    "icub_tilt": lambda: _icub("icub_tilt"),
    "icub_masses": lambda: _icub("icub_masses"),
}
