"""The fault campaign: a seeded part of it holds."""

import numpy as np
import pytest
from support.standing_robot import StandingHyq

from benchmarks.fault_campaign import campaign, scenes
from benchmarks.fault_campaign.__main__ import table
from benchmarks.fault_campaign.campaign import all_cases, run_cases
from benchmarks.fault_campaign.messages import Message
from benchmarks.fault_campaign.pipelines import ADAPTERS
from benchmarks.fault_campaign.scenes import CONTROL, FLOATING, ON_FEET, SENSORS, Recorded, Scene

SHORT_KINDS = ("impossible", "silence", "other_epoch", "names_changing", "bytes_damaged")
MUST_HOLD = {"escapes", "inconsistent"}
SHORT = {
    "short_tilt": Scene("tilt", "talos", "talos_short", SENSORS, (0.0, 1.0), 3.0, ("imu",)),
    "short_inertial": Scene("inertial", "talos", "talos_short", ON_FEET, (0.0, 1.0), 3.0, FLOATING),
    "short_controller": Scene(
        "controller", "talos", "talos_short", CONTROL, (0.5,), 2.0, ("joints",), scenes.BLIND
    ),
    "short_payload": Scene("payload", "hyq", "hyq_short", FLOATING, (0.0, 1.0), 3.0, FLOATING),
}


class HyqRecorder:
    """Takes the readings of a standing HyQ in the place of its pipeline."""

    def __init__(self):
        self.messages = []

    def push_joints(self, sample, stream="joints"):
        self.messages.append(Message(sample.stamp_ns, stream, sample, sample.stamp_ns))

    def push_base_state(self, sample):
        self.push_joints(sample, "base_state")

    def push_wrench(self, contact, sample):
        pass

    def tick(self, now_ns):
        return []


def hyq_short():
    recorder = HyqRecorder()
    StandingHyq(recorder).run(3.0)
    return Recorded(tuple(recorder.messages), np.zeros(1), np.zeros((0, 3)), {"trunk": 60.0})


def talos_short():
    return scenes.moving("talos", 3.0, 5.0, ("torso_2_link",))


@pytest.fixture(scope="module")
def short_scenes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "RATE_HZ", 100.0)
        patch.setattr(scenes, "SOURCES", {"talos_short": talos_short, "hyq_short": hyq_short})
        patch.setattr(campaign, "SCENES", SHORT)
        yield


def test_faults_escape_from_no_pipeline_and_nothing_impossible_is_published(short_scenes):
    verdicts = list(run_cases(all_cases(range(1, 2), 3, kinds=SHORT_KINDS), jobs=2))
    assert {(v.kind, v.pipeline) for v in verdicts} == {(k, p) for k in SHORT_KINDS for p in ADAPTERS}
    broken = {v.case: (v.failures, v.fault, v.escape, v.inconsistent) for v in verdicts}
    assert not {case: found for case, found in broken.items() if MUST_HOLD & set(found[0])}
    assert all(pipeline in table(verdicts) for pipeline in ADAPTERS)
