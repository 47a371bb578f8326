"""The fault campaign: a seeded part of it holds, a case is repeatable, and the judge sees what is wrong."""

import numpy as np
import pytest
from support.standing_hyq import StandingHyq

from benchmarks.fault_campaign import campaign, scenes
from benchmarks.fault_campaign.campaign import all_cases, case_named, run_cases, scene_shares
from benchmarks.fault_campaign.fault import Fault
from benchmarks.fault_campaign.feed import HealthSample, Put, Record
from benchmarks.fault_campaign.judge import errors_of, judge
from benchmarks.fault_campaign.kinds import KINDS
from benchmarks.fault_campaign.outputs import ADAPTERS
from benchmarks.fault_campaign.readings import Reading
from benchmarks.fault_campaign.report import failures, table
from benchmarks.fault_campaign.scenes import Recorded, Scene
from inertial_estimation.signals import NANOSECONDS, BaseEstimate, BaseState, HealthLevel
from inertial_estimation.spatial.rotations import quaternion_from_rotation, rotation_from_roll_pitch_yaw

SHORT_KINDS = ("nan", "huge", "silence", "stamps_zero", "names_changing", "bytes_malformed")
MUST_HOLD = {"escapes", "over", "non_finite", "inconsistent"}
SHORT = {
    "short_tilt": Scene("tilt", "talos", "talos_short", scenes.SENSORS, (0.0, 1.0), 3.0, {}),
    "short_inertial": Scene(
        "inertial", "talos", "talos_short", (*scenes.SENSORS, "base_state"), (0.0, 1.0), 3.0, {}
    ),
    "short_controller": Scene(
        *("controller", "talos", "talos_short", ("joints", "wrench", "base_state", "orientation")),
        (0.5,),
        2.0,
        {"await_inertias": False, "inertias.links": ()},
    ),
    "short_payload": Scene(
        "payload", "hyq", "hyq_short", ("imu", "joints", "base_state"), (0.0, 1.0), 3.0, {}
    ),
}


class HyqRecorder:
    """Takes the readings of a standing HyQ in the place of its pipeline."""

    def __init__(self):
        self.readings = []

    def _add(self, stream, sample):
        self.readings.append(Reading(sample.stamp_ns, stream, sample, sample.stamp_ns))

    def push_imu(self, sample):
        self._add("imu", sample)

    def push_joints(self, sample):
        self._add("joints", sample)

    def push_base_state(self, sample):
        self._add("base_state", sample)

    def push_wrench(self, contact, sample):
        pass

    def tick(self, now_ns):
        return []


def hyq_short():
    recorder = HyqRecorder()
    StandingHyq(recorder).run(3.0)
    return Recorded(tuple(recorder.readings), np.zeros(1), np.zeros((0, 3)), {"trunk": 60.0})


def talos_short():
    made = scenes._synthetic("talos", 3.0, 5.0, ("torso_2_link",))
    readings = []
    for reading in made.readings:
        readings.append(reading)
        if reading.stream == "base_state":
            state = reading.sample
            sample = scenes.OrientationSample(state.stamp_ns, state.quaternion_xyzw)
            readings.append(Reading(reading.arrival_ns, "orientation", sample, reading.clock_ns))
    return Recorded(tuple(readings), made.stamps_ns, made.up_B, made.masses)


@pytest.fixture(scope="module")
def short_scenes(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("scenes"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "RATE_HZ", 100.0)
        patch.setattr(scenes.tempfile, "gettempdir", lambda: folder)
        patch.setattr(campaign, "SOURCES", {"talos_short": talos_short, "hyq_short": hyq_short})
        patch.setattr(campaign, "SCENES", SHORT)
        scenes._source.cache_clear()
        yield
        scenes._source.cache_clear()


def test_faults_escape_from_no_pipeline_and_nothing_impossible_is_published(short_scenes):
    verdicts = list(run_cases(all_cases(range(1, 2), 3, SHORT_KINDS, list(ADAPTERS))))
    assert {(v.kind, v.pipeline) for v in verdicts} == {(k, p) for k in SHORT_KINDS for p in ADAPTERS}
    broken = {v.case: (failures(v), v.fault, v.escape) for v in verdicts if MUST_HOLD & set(failures(v))}
    assert not broken
    assert all(kind in table(verdicts) for kind in SHORT_KINDS)


def test_shares_hold_every_case_once_and_each_one_scene(short_scenes):
    cases = all_cases(range(5), 3, SHORT_KINDS, list(ADAPTERS))
    shares = scene_shares(cases)
    assert sorted(case.name for share in shares for case in share) == sorted(case.name for case in cases)
    assert all(len({case.draw()[0] for case in share}) == 1 for share in shares)


def test_early_cases_begin_with_the_first_reading(short_scenes):
    cases = all_cases(range(3, 5), 3, SHORT_KINDS, ["tilt"], early=True)
    assert len(cases) == 2 * len(SHORT_KINDS)
    assert all(case.draw()[1] == 0.0 and case.number >= 3 for case in cases)


def test_a_case_is_drawn_from_its_name_and_the_seed_alone(short_scenes):
    readings = scenes._source("talos_short", talos_short).readings
    begin_ns = readings[60].arrival_ns
    before = [r for r in readings if r.arrival_ns < begin_ns]
    for name, kind in KINDS.items():
        if name == "inertias_absurd":
            continue  # the short scene has no inertias

        def fault(seed, kind=kind, name=name):
            return kind.inject(case_named(f"tilt/{name}/0", seed).rng(), readings, begin_ns)

        first, again, other = fault(0), fault(0), fault(1)
        order = [[(r.arrival_ns, r.stream) for r in found.readings] for found in (first, again)]
        assert order[0] == order[1], name
        assert first.text == again.text
        assert (first.end_ns, first.text) != (other.end_ns, other.text), name
        assert [r for r in first.readings if r.arrival_ns < begin_ns] == before, name
        assert first.readings != readings, name


STEP_NS = 10_000_000
UP = np.array([0.0, 0.0, 1.0])


def estimate(stamp_ns, tilt_deg):
    """An estimate of an upright base that is off by some degrees."""
    R = rotation_from_roll_pitch_yaw(np.radians(tilt_deg), 0.0, 0.0)
    state = BaseState(stamp_ns, quaternion_from_rotation(R), np.zeros(3), np.zeros(3), np.zeros(3))
    covariance = 1e-4 * np.eye(3)
    return BaseEstimate(state, R[2], np.zeros(3), (), np.zeros(3), False, False, covariance)


class UprightPipeline:
    """What the adapter reads of a pipeline: its rate."""

    class config:
        rate = 100.0


def judged(errors_deg, levels, names="imu/data", fault_steps=20):
    """Judge a run of 100 steps whose fault lasts from step 10 on, by errors and levels of health."""
    stamps = STEP_NS * np.arange(1, len(errors_deg) + 1)
    data = Recorded((), np.array([0, 10 * NANOSECONDS]), np.array([UP, UP]), {})
    adapter = ADAPTERS["tilt"](UprightPipeline, data)
    record, clean = Record(), Record()
    for stamp, error, level in zip(stamps.tolist(), errors_deg, levels, strict=True):
        if error is not None:
            record.puts.append(Put(stamp, stamp, stamp, estimate(stamp, error)))
        record.health.append(HealthSample(stamp, level, f"{names}: bad", 50))
        clean.puts.append(Put(stamp, stamp, stamp, estimate(stamp, 0.1)))
    begin, end = int(stamps[9]), int(stamps[9 + fault_steps])
    last = Reading(int(stamps[-1]), "imu", None, int(stamps[-1]))
    fault = Fault((last,), begin, end, ("imu",), "made up")
    usual = errors_of(adapter, clean.puts)
    return judge("tilt/made_up/0", adapter, fault, record, usual, pipeline="tilt", kind="nan", scene="")


OK, WARN = HealthLevel.OK, HealthLevel.WARN


def test_a_good_run_fails_in_nothing():
    assert failures(judged([0.1] * 100, [OK] * 100)) == []


def test_a_wrong_estimate_called_ok_is_seen_and_one_that_is_warned_of_is_not():
    errors = [0.1] * 10 + [5.0] * 60 + [0.1] * 30
    called_ok = judged(errors, [OK] * 100)
    assert "wrong_ok" in failures(called_ok)
    assert called_ok.wrong_ok_s == pytest.approx(0.59)
    assert called_ok.recovery_s == pytest.approx(0.41)
    assert failures(judged(errors, [WARN] * 100)) == []
    assert failures(judged(errors, [WARN] * 100, names="joint_states")) == ["not_named"]


def test_silence_numbers_and_bodies_are_judged():
    assert "silent" in failures(judged([0.1] * 10 + [None] * 290, [WARN] * 300))
    assert "silent_ok" in failures(judged([0.1] * 10 + [None] * 60 + [0.1] * 30, [OK] * 100))
    never = judged([0.1] * 20 + [3.0] * 80, [WARN] * 100)
    assert failures(never) == ["not_recovered"]
    assert judged([0.1] * 50 + [np.nan] + [0.1] * 49, [OK] * 100).non_finite == 1
