"""The steps of a pipeline: what is forgotten before them, the time between them, stale inputs."""

import numpy as np
import pytest

from inertial_estimation.estimators.inputs.alignment import SignalAligner, StreamSpec
from inertial_estimation.estimators.inputs.stepper import Stepper
from inertial_estimation.models.robot_config import InputConfig

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
    for stamp in (10, 20, 5000, 5010, 100, 110):
        recorder.push(stamp)
    assert recorder.events == [None, 10, "gap", None, 10, "restart", None, 10]


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


def test_steps_are_made_although_an_input_is_stale():
    recorder = Recorder(timeout=0.1)
    recorder.stepper.aligner.push("x", 10 * MS, np.zeros(1))
    assert recorder.stepper.steps() == [10 * MS]
