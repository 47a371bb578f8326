"""The fault campaign and the referee: a seeded part holds, a case is repeatable, judges see what is wrong."""

import math
import os
import pkgutil

import numpy as np
import pytest
from support.standing_robot import StandingHyq

from benchmarks.fault_campaign import campaign, scenes
from benchmarks.fault_campaign.__main__ import table
from benchmarks.fault_campaign.campaign import all_cases, run_cases
from benchmarks.fault_campaign.fault import Fault
from benchmarks.fault_campaign.feed import HealthSample, Output, Record
from benchmarks.fault_campaign.forked import EndedError, forked, in_parallel
from benchmarks.fault_campaign.judge import errors_of, judge
from benchmarks.fault_campaign.messages import Message
from benchmarks.fault_campaign.pipelines import ADAPTERS
from benchmarks.fault_campaign.scenes import CONTROL, FLOATING, ON_FEET, SENSORS, Recorded, Scene
from benchmarks.referee.parts import PARTS, tasks
from benchmarks.referee.row import Better, Row, comparison_text, differences
from inertial_estimation.signals import NANOSECONDS, HealthLevel
from inertial_estimation.spatial.rotations import rotation_from_roll_pitch_yaw

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


def test_children_return_what_they_found_and_a_dead_one_is_told_of():
    assert sorted(in_parallel([lambda k=k: k * k for k in range(5)], 2)) == [0, 1, 4, 9, 16]
    with pytest.raises(EndedError, match="SIGKILL"):
        forked(lambda: os.kill(os.getpid(), 9))


STEP_NS = 10_000_000
UP = np.array([0.0, 0.0, 1.0])


def output(stamp_ns, tilt_deg):
    """An estimate of an upright base that is off by some degrees."""
    vertical = rotation_from_roll_pitch_yaw(np.radians(tilt_deg), 0.0, 0.0)[2]
    return Output(stamp_ns, stamp_ns, stamp_ns, vertical, {"unit vertical": vertical, "bias": [0.0]})


def judged(errors_deg, levels, names="imu/data", streams=("wrench:left_foot", "imu"), **changes):
    """Judge a run of 10 ms steps whose fault lasts from step 10 to 30, by errors and levels of health."""
    stamps = STEP_NS * np.arange(1, len(errors_deg) + 1)
    adapter = ADAPTERS["tilt"](None, Recorded((), np.array([0, 10 * NANOSECONDS]), np.array([UP, UP]), {}))
    record, clean = Record(**changes), []
    for stamp, error, level in zip(stamps.tolist(), errors_deg, levels, strict=True):
        if error is not None:
            record.outputs.append(output(stamp, error))
        record.health.append(HealthSample(stamp, level, f"{names}: bad", 50))
        clean.append(output(stamp, 0.1))
    last = Message(int(stamps[-1]), "imu", None, int(stamps[-1]))
    fault = Fault((last,), int(stamps[9]), int(stamps[29]), streams, "made up")
    named = {"case": "tilt/zero/0", "pipeline": "tilt", "kind": "zero", "scene": ""}
    return judge(adapter, fault, record, errors_of(adapter, clean), ("imu",), **named)


OK, WARN = HealthLevel.OK, HealthLevel.WARN
WRONG = [0.1] * 10 + [5.0] * 60 + [0.1] * 30
LATER = [0.1] * 10 + [None] * 60 + [0.1] * 30
QUIET = [0.1] * 10 + [None] * 110 + [0.1] * 30  # until 0.9 s after the fault of the IMU


@pytest.mark.parametrize(
    ("errors", "level", "changes", "failures"),
    [
        ([0.1] * 100, OK, {}, []),
        (WRONG, OK, {}, ["wrongly_ok"]),
        (WRONG, WARN, {}, []),
        (WRONG, WARN, {"names": "joint_states"}, ["unnamed"]),
        ([0.1] * 10 + [None] * 290, WARN, {}, ["silent", "not_recovered"]),
        (LATER, OK, {}, ["silent"]),
        (LATER, WARN, {}, []),
        (QUIET, WARN, {}, []),
        (QUIET, WARN, {"streams": ("wrench:left_foot",)}, ["silent"]),
        ([0.1] * 20 + [3.0] * 80, WARN, {}, ["not_recovered"]),
        ([0.1] * 50 + [np.nan] + [0.1] * 49, OK, {}, ["inconsistent"]),
        ([0.1] * 100, OK, {"longest_s": [0.02] * 5}, ["late"]),
        ([0.1] * 100, OK, {"escape": "ValueError"}, ["escapes"]),
    ],
)
def test_the_judge_sees_what_is_wrong_and_nothing_else(errors, level, changes, failures):
    assert judged(errors, [level] * len(errors), **changes).failures == failures


def test_differences_within_the_spread_are_left_out_and_worse_ones_come_first() -> None:
    before = {
        "a": [Row("small", 1.0, "", spread=0.5), Row("better", 5.0, ""), Row("worse", 5.0, "", Better.HIGHER)]
    }
    before["a"] += [Row("gone", 1.0, ""), Row("lost", 1.0, "")]
    after = {"a": [Row("small", 1.4, ""), Row("better", 4.0, ""), Row("worse", 2.0, "", Better.HIGHER)]}
    after["a"] += [Row("new", 1.0, ""), Row("lost", math.nan, "")]
    assert [one.after.key for one in differences(before, after)] == ["lost", "worse", "better"]
    text = comparison_text(before, after, "earlier")
    assert text.index("lost") < text.index("worse  a: worse") < text.index("better a: better")
    assert "only here: a: new" in text
    assert "only there: a: gone" in text
    assert comparison_text(after, after, "it").endswith("none")


@pytest.mark.parametrize("part", PARTS)
def test_every_task_is_a_function_that_exists_with_a_name_of_its_own(part: str) -> None:
    found = tasks(part, 5, 3)
    assert len({task.name for task in found}) == len(found) > 0
    for function in {task.function for task in found if part != "size"}:  # it changes the environment
        assert callable(pkgutil.resolve_name(function))
