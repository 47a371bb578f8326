"""The steps of a pipeline: what is forgotten before them, the time between them, stale inputs."""

import numpy as np
import pytest

from inertial_estimation.errors import NumericalError
from inertial_estimation.estimators.inputs.alignment import SignalAligner
from inertial_estimation.estimators.inputs.input_stream import StreamSpec
from inertial_estimation.estimators.inputs.stepper import Stepper
from inertial_estimation.inputs.config import InputConfig

MS = 1_000_000


class Recorder:
    """A pipeline of one input that writes down what its stepper does; odd readings give no step."""

    def __init__(self, **config):
        self.events = []
        aligner = SignalAligner(StreamSpec("x", 1), (), InputConfig(**config))
        self.stepper = Stepper(
            aligner,
            on_step=self.step,
            on_gap=lambda: self.events.append("gap"),
            on_restart=lambda: self.events.append("restart"),
        )

    def step(self, sample):
        elapsed = self.stepper.elapsed(sample)
        if int(sample.driver_row[0]) % 2:
            return None
        self.stepper.advance(sample)
        self.events.append(None if elapsed is None else round(1e3 * elapsed))
        return sample.stamp_ns

    def push(self, stamp_ms, value=0.0):
        self.stepper.aligner.push("x", stamp_ms * MS, np.array([value]))
        return self.stepper.tick(stamp_ms * MS)


def test_time_runs_from_the_last_step_that_was_made():
    recorder = Recorder()
    assert recorder.push(10) == [10 * MS]
    assert recorder.push(14, 1.0) == []
    assert recorder.push(21) == [21 * MS]
    assert recorder.events == [None, 11]


def test_a_gap_and_a_restart_are_told_apart_and_begin_the_time_again():
    recorder = Recorder(jump=1.0)
    for first, readings in ((10, 4), (5000, 8), (100, 70)):
        for stamp in range(first, first + 10 * readings, 10):
            recorder.push(stamp)
    while recorder.stepper.tick(800 * MS):
        pass  # the readings that were held until the clock had shown itself are caught up with
    assert recorder.events == [None, *3 * [10], "gap", None, *7 * [10], "restart", None, *69 * [10]]


def test_nothing_precedes_the_first_step_nor_one_after_clear():
    recorder = Recorder()
    recorder.push(10)
    recorder.stepper.clear()
    recorder.push(5)
    assert recorder.events == [None, None]


def test_interrupt_lets_the_next_step_follow_none():
    recorder = Recorder()
    recorder.push(10)
    recorder.stepper.interrupt()
    recorder.push(20)
    assert recorder.events == [None, None]


@pytest.mark.parametrize("late_ms", [0, 500])
def test_results_are_kept_back_while_an_input_is_stale(late_ms):
    recorder = Recorder(timeout=0.1)
    recorder.stepper.aligner.push("x", 10 * MS, np.zeros(1))
    results = recorder.stepper.tick((10 + late_ms) * MS)
    assert results == ([] if late_ms else [10 * MS])
    assert recorder.events == [None]  # the step itself is made either way


class Events:
    """Tells of every result that was withheld by the next ones."""

    def __init__(self):
        self.kept = []

    def keep(self, results):
        self.kept += results

    def completed(self, result):
        return result, self.kept.pop(0) if self.kept else None

    def reset(self):
        self.kept.clear()


def test_events_of_results_kept_back_are_told_by_later_ones_until_the_data_begin_anew():
    recorder = Recorder(timeout=0.1, jump=1.0)
    recorder.stepper = Stepper(
        recorder.stepper.aligner, on_step=recorder.step, on_restart=list, events=Events()
    )
    aligner, tick = recorder.stepper.aligner, recorder.stepper.tick
    for stamp in (10, 20):
        aligner.push("x", stamp * MS, np.zeros(1))
        assert tick(500 * MS) == []
    told = [recorder.push(stamp) for stamp in (30, 40, 50)]
    assert told == [[(30 * MS, 10 * MS)], [(40 * MS, 20 * MS)], [(50 * MS, None)]]
    aligner.push("x", 60 * MS, np.zeros(1))
    assert tick(500 * MS) == []
    recorder.stepper.clear()
    assert recorder.push(70) == [(70 * MS, None)]


def test_steps_that_are_caught_up_with_after_a_gap_of_all_inputs_are_not_told_as_fresh():
    config = InputConfig(max_wait=0.05, timeout=0.1)
    aligner = SignalAligner(StreamSpec("x", 1), (StreamSpec("y", 1),), config)
    events, told = Events(), []
    stepper = Stepper(aligner, on_step=lambda s: s.stamp_ns, on_restart=list, events=events)
    for stamp in (*range(1, 41), *range(240, 300)):
        for stream in "yx":
            if stream == "x" or stamp == 1 or stamp >= 240:
                aligner.push(stream, stamp * MS, np.zeros(1))
                told += stepper.tick(stamp * MS)
    assert [result for result, _ in told] == [1 * MS, *(stamp * MS for stamp in range(240, 300))]
    assert told[1][1] == 2 * MS, "events of steps that are too old are told by later ones"


def test_steps_that_give_no_result_are_told_after_the_timeout():
    recorder = Recorder(timeout=0.1)
    recorder.push(10)
    for stamp in range(20, 120, 10):
        recorder.push(stamp, 1.0)
    assert recorder.stepper.health_note(110 * MS) == ""  # 0.1 s: not longer than the timeout
    recorder.push(120, 1.0)
    assert recorder.stepper.health_note(120 * MS).startswith("no estimate for 0.11 s of data: ")
    recorder.push(130)
    assert recorder.stepper.health_note(130 * MS) == ""
    recorder.push(350, 1.0)
    recorder.stepper.clear()
    assert recorder.stepper.health_note(350 * MS) == ""


def test_an_input_in_bursts_that_leaves_no_result_is_named():
    aligner = SignalAligner(
        StreamSpec("x", 1), (StreamSpec("y", 1),), InputConfig(max_wait=0.02, timeout=0.1)
    )
    stepper = Stepper(aligner, on_step=lambda sample: sample if sample.complete else None, on_restart=list)
    for k in range(1, 31):
        aligner.push("x", 10 * k * MS, np.zeros(1))
        if k < 5:
            aligner.push("y", 10 * k * MS, np.zeros(1))
        stepper.tick(10 * k * MS)
    assert "no estimate for" in stepper.health_note(300 * MS)
    assert "y came later than 'inputs.max_wait' allows" in stepper.health_note(300 * MS)


class Fragile(Recorder):
    """A pipeline whose steps fail on some values: an error for negative ones, a defect above a thousand."""

    def __init__(self, error=ValueError, **options):
        self.error, self.options = error, options
        super().__init__()
        self.stepper = Stepper(
            self.stepper.aligner,
            on_step=self.fragile_step,
            on_restart=lambda: self.events.append("restart"),
            defect=lambda value: "value is above 1000" if value > 1000.0 else "",
            **options,
        )

    def fragile_step(self, sample):
        value = float(sample.driver_row[0])
        if value < 0.0:
            raise self.error("value is negative " + "x" * 1000)
        self.events.append(self.stepper.elapsed(sample))
        self.stepper.advance(sample)
        return value


@pytest.mark.parametrize(
    "error", [ValueError, np.linalg.LinAlgError, OverflowError, ZeroDivisionError, NumericalError]
)
def test_a_step_that_raises_restarts_the_pipeline_and_returns_nothing(error):
    recorder = Fragile(error)
    assert recorder.push(10, 1.0) == [1.0]
    assert recorder.push(20, -1.0) == []
    assert recorder.push(30, 2.0) == [2.0]
    assert recorder.events == [None, "restart", None]
    note = recorder.stepper.health_note(1030 * MS)
    assert "restarted once" in note
    assert f"1.0 s ago: {error.__name__}: value is negative" in note
    assert len(note) < 300


def test_a_defect_of_a_result_restarts_the_pipeline_and_returns_nothing():
    recorder = Fragile()
    assert recorder.push(10, 2000.0) == []
    assert recorder.push(20, 2.0) == [2.0]
    assert recorder.events == [None, "restart", None]
    assert recorder.stepper.health_note(20 * MS).endswith("value is above 1000")


@pytest.mark.parametrize("error", [TypeError, AttributeError, KeyError, AssertionError])
def test_a_programming_error_is_raised(error):
    recorder = Fragile(error)
    with pytest.raises(error):
        recorder.push(10, -1.0)


def test_a_pipeline_may_keep_state_where_a_step_fails():
    kept = []
    recorder = Fragile(on_failure=lambda: kept.append("last good state"))
    recorder.push(10, -1.0)
    assert kept == ["last good state"]
    assert "restart" not in recorder.events


def test_failures_without_end_are_counted_in_bounded_memory_and_reported_for_ten_seconds():
    recorder = Fragile()
    for stamp in range(0, 5000, 10):
        assert recorder.push(stamp, -1.0) == []
    assert recorder.stepper.failures.count == 500
    assert "restarted 500 times" in recorder.stepper.health_note(5000 * MS)
    for stamp in range(5000, 14990, 10):
        recorder.push(stamp)
        assert recorder.stepper.health_note(stamp * MS)
    recorder.push(14990)
    assert recorder.stepper.health_note(14990 * MS) == ""
    recorder.push(15000, -1.0)
    assert "restarted once" in recorder.stepper.health_note(15000 * MS)


def test_a_failure_is_reported_for_ten_seconds_of_data_also_over_a_jump_back():
    recorder = Fragile()
    recorder.push(50_000, -1.0)
    for stamp in range(0, 10_010, 10):
        recorder.push(stamp)
        assert bool(recorder.stepper.health_note(stamp * MS)) == (stamp < 10_000)


class Reader:
    """A pipeline that reads its input when a step is ready, and executes the step from what has been read."""

    def __init__(self):
        aligner = SignalAligner(StreamSpec("x", 1), (), InputConfig(timeout=0.1, max_wait=0.0))
        self.times, self.stepper = (
            [],
            Stepper(
                aligner,
                on_step=self.step,
                on_restart=lambda: self.times.append("restart"),
                on_ready=self.read,
            ),
        )

    def read(self, sample):
        value = float(sample.driver_row[0])
        if value < 0.0:
            raise ValueError("value is negative")
        newest = self.stepper.aligner.latest("x", sample.time_ns + 1000 * MS, 10.0)
        return value, float(newest[0])

    def step(self, sample, read):
        self.times.append(self.stepper.elapsed(sample))
        self.stepper.advance(sample)
        return sample.stamp_ns, *read

    def push(self, stamp_ms, value, late_ms=0):
        self.stepper.aligner.push("x", stamp_ms * MS, np.array([value]))
        return self.stepper.begin((stamp_ms + late_ms) * MS)


def test_steps_that_are_executed_later_give_what_they_give_at_once():
    data = [(10, 1.0, 0), (20, 2.0, 0), (30, -1.0, 0), (40, 4.0, 300), (50, 5.0, 0)]
    later, at_once = Reader(), Reader()
    begun = [later.push(*each) for each in data]
    assert later.times == []
    results = [later.stepper.finish(ready) for ready in begun]
    assert results == [at_once.stepper.finish(at_once.push(*each)) for each in data]
    assert results == [[(10 * MS, 1.0, 1.0)], [(20 * MS, 2.0, 2.0)], [], [], [(50 * MS, 5.0, 5.0)]]
    assert later.times == at_once.times == [None, 0.01, "restart", None, 0.01]
    assert "ValueError: value is negative" in later.stepper.health_note(60 * MS)


def test_nothing_is_begun_without_a_reading():
    assert Reader().stepper.begin(10 * MS) is None
