"""A filter that begins later predicts better only where the first data were faulty."""

from dataclasses import replace

import numpy as np
import pytest
from support.inertial_scenes import MEMORY, ArmScene

from inertial_estimation.estimators.inertial.fresh_start import LIFE, START, FreshStart
from inertial_estimation.estimators.inertial.log_cholesky_ekf import LogCholeskyEkf
from inertial_estimation.estimators.inertial.prior import PriorSigma

DT = 0.01
PRIOR = PriorSigma(mass=0.3, com=0.03, radii=0.2, friction=np.zeros(0))


@pytest.fixture(scope="module")
def scene():
    made = ArmScene(links=("panda_link7",))
    made.truth = [1.4 * made.truth[0]]  # it carries something
    return made


def filter_of(scene):
    return LogCholeskyEkf(scene.bodies, PRIOR, scene.gate(enabled=False), MEMORY)


def better_at(scene, faulty_s, *, pauses=(), length_s=2.0, seed=0):
    """Return when [s] the later filter is found better; torques are zero for the first seconds."""
    scene.rng = np.random.default_rng(seed)
    learning, fresh, found = filter_of(scene), FreshStart(filter_of(scene)), []
    for k in range(round(length_s / DT)):
        equation = scene.equation()
        if k * DT < faulty_s:
            equation = replace(equation, value=np.zeros_like(equation.value))
        update = learning.update(equation, DT)
        if any(begin <= k * DT < end for begin, end in pauses):
            fresh.pause(DT)
        elif fresh.feed(equation, update, DT):
            found.append(k * DT)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_sound_data_are_predicted_better_by_the_filter_that_knows_them(scene, seed):
    assert better_at(scene, 0.0, seed=seed, length_s=START) == []


@pytest.mark.parametrize("faulty_s", [0.05, 0.1, 0.4])
def test_faulty_first_data_are_found_soon_after_they_end(scene, faulty_s):
    assert faulty_s < better_at(scene, faulty_s)[0] < faulty_s + 2.2 * LIFE


def explained_at(scene, disturbed, *, faulty_s=0.0, length_s=1.5):
    """Return when [s] the later filter explains data that one with the state of the time 0.5 s does not.

    Args:
        scene: The arm.
        disturbed: Changes the values of the equations from 0.5 s on.
        faulty_s: Time from the beginning in which torques are zero [s].
        length_s: Length of the data [s].
    """
    scene.rng = np.random.default_rng(0)
    held, fresh, found = filter_of(scene), FreshStart(filter_of(scene)), []
    for k in range(round(length_s / DT)):
        equation, time_s = scene.equation(), k * DT
        if time_s < faulty_s:
            equation = replace(equation, value=np.zeros_like(equation.value))
        if time_s < 0.5:
            held.update(equation, DT)
            continue
        equation = replace(equation, value=disturbed(equation.value))
        if fresh.explains(equation, held.update(equation, DT, learn=False), DT):
            found.append(time_s)
    return found


def test_good_data_that_contradict_what_faulty_ones_have_taught_are_explained(scene):
    assert 0.5 < explained_at(scene, lambda value: value, faulty_s=0.5)[0] < 0.5 + 1.2 * LIFE


def test_data_that_agree_with_what_is_known_are_not_explained_better(scene):
    assert explained_at(scene, lambda value: value) == []


def test_a_push_is_explained_by_no_beginning_although_a_filter_that_learns_predicts_it_better(scene):
    rng = np.random.default_rng(1)
    assert explained_at(scene, lambda value: value + 20.0 * rng.choice((-1.0, 1.0), len(value))) == []


def test_data_that_contain_a_pause_are_not_compared(scene):
    whole = better_at(scene, 0.1)[0]
    assert better_at(scene, 0.1, pauses=[(0.1, whole + 1.5 * LIFE)])[0] > whole + 1.5 * LIFE


def test_after_the_first_seconds_and_after_retirement_nothing_is_compared(scene):
    assert better_at(scene, 0.1, pauses=[(0.0, START + 0.1)], length_s=START + 0.5) == []
    fresh, learning, equation = FreshStart(filter_of(scene)), filter_of(scene), scene.equation()
    fresh.retire()
    assert not any(fresh.feed(equation, learning.update(equation, DT), DT) for _ in range(40))
