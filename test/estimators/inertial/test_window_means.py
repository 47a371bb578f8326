"""Windows of an input in one call: lines are exact at any stamps, as the weights of the window say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inertial_estimation.compilation import compiling, numbers, warm_up
from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.estimators.inertial import window_means
from inertial_estimation.estimators.inputs.aligner_memory import AlignerMemory
from inertial_estimation.estimators.inputs.stamped_buffer import StampedBuffer
from inertial_estimation.models.base_acceleration import ImuToBase
from inertial_estimation.models.coulomb import smooth_sign
from inertial_estimation.models.differentiation import window_weights
from inertial_estimation.models.imu_mount import ImuMount
from inertial_estimation.models.robot_model import RobotModel

MS = 1_000_000
HALF = 50 * MS
START = 10**18


@pytest.fixture(scope="module", autouse=True)
def compiled():
    warm_up()


def irregular(seed, width, capacity=64):
    """A buffer with rows at irregular stamps, what it holds of them, and the time of one of them [ns]."""
    rng = np.random.default_rng(seed)
    stamps = START + np.cumsum(rng.integers(MS // 2, 6 * MS, 60))
    rows = rng.normal(size=(60, width))
    buffer = StampedBuffer(width, capacity)
    for stamp, row in zip(stamps.tolist(), rows, strict=True):
        buffer.append(stamp, row)
    return buffer, stamps[-capacity:], rows[-capacity:], int(stamps[30])


def at_time(time):
    """Weights of no rows, whose centroid the means shall belong to [s]."""
    return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), time


def window_of(buffer):
    return buffer.times, buffer.rows


@given(st.integers(0, 10**6), st.integers(8, 64))
def test_mean_and_slope_are_those_of_the_weights_of_the_window(seed, capacity):
    buffer, stamps, rows, centre = irregular(seed, 4, capacity)
    inside = np.abs(stamps - centre) <= HALF
    reduced = np.full((2, 4), 7.0)
    weights = window_weights(1e-9 * (stamps[inside] - centre)) if inside.sum() >= 3 else None
    time = at_time(0.0 if weights is None else weights.centroid)
    assert window_means.mean_and_slope(centre, HALF, time, *window_of(buffer), reduced) == (
        weights is not None
    )
    if weights is None:
        assert np.all(reduced == 7.0)
        return
    np.testing.assert_allclose(reduced[0], weights.mean @ rows[inside], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(reduced[1], weights.slope @ rows[inside], rtol=1e-12, atol=1e-10)


@given(st.integers(0, 10**6), st.booleans())
def test_weights_of_the_joint_states_are_those_of_inputs_with_the_same_stamps_alone(seed, same):
    buffer, stamps, _rows, centre = irregular(seed, 4)
    stamps = stamps[np.abs(stamps - centre) <= HALF]
    known, own = window_weights(1e-9 * (stamps - centre)), np.empty((2, 4))
    window_means.mean_and_slope(centre, HALF, at_time(known.centroid), *window_of(buffer), own)
    if not same:
        stamps[-1] += 1
    weights = stamps, known.mean.copy(), known.slope.copy(), known.centroid
    reduced = np.empty((2, 4))
    window_means.mean_and_slope(centre, HALF, weights, *window_of(buffer), reduced)
    np.testing.assert_array_equal(reduced, own)
    weights[2][:] = 0.0
    window_means.mean_and_slope(centre, HALF, weights, *window_of(buffer), reduced)
    assert np.any(reduced[1]) == (not same or not compiling())


@given(st.integers(0, 10**6))
def test_a_line_is_exact_at_any_time_of_the_window(seed):
    buffer, stamps, _rows, centre = irregular(seed, 2)
    buffer.clear()
    for stamp in stamps.tolist():
        t = 1e-9 * (stamp - centre)
        buffer.append(stamp, np.array([3.0 - 2.0 * t, 1.0 + t]))
    reduced, means = np.empty((2, 2)), np.zeros((3, 2))
    window_means.mean_and_slope(centre, HALF, at_time(0.003), *window_of(buffer), reduced)
    assert reduced[0] == pytest.approx([3.0 - 2.0 * 0.003, 1.003])
    assert reduced[1] == pytest.approx([-2.0, 1.0])
    assert window_means.mean_of(centre, HALF, at_time(0.003), *window_of(buffer), means, 1)
    np.testing.assert_array_equal(means, [[0.0, 0.0], reduced[0], [0.0, 0.0]])


@pytest.mark.parametrize("frame", ["base_link", "head_2_link"])
def test_motion_by_an_imu_is_that_of_its_mean_and_slope(frame):
    robot = RobotModel.from_urdf(read_urdf("example-robot-data:talos_reduced"))
    to_base = ImuToBase(robot, ImuMount.on(robot, frame))
    buffer, _stamps, _rows, centre = irregular(5, 6)
    joints = np.random.default_rng(6).normal(size=(3, robot.n_joints))
    reduced, motion = np.empty((2, 6)), np.empty((3, 3))
    window = (centre, HALF, at_time(0.001), *window_of(buffer))
    window_means.mean_and_slope(*window, reduced)
    assert window_means.imu_motion(*window, (0, 3), to_base.chain, to_base.joints, *joints, motion)
    f_I, w_I, wd_I = reduced[0, :3], reduced[0, 3:], reduced[1, 3:]
    np.testing.assert_allclose(motion, to_base.base_motion(tuple(joints), f_I, w_I, wd_I), rtol=1e-12)


def test_motion_by_the_base_state_adds_gravity_and_what_the_turning_axes_hide():
    buffer, _stamps, _rows, centre = irregular(7, 9)
    reduced, motion = np.empty((2, 9)), np.empty((3, 3))
    window = (centre, HALF, at_time(0.001), *window_of(buffer))
    window_means.mean_and_slope(*window, reduced)
    assert window_means.base_state_motion(*window, (0, 3, 6), motion)
    (v, w, up), (v_dot, w_dot, _) = reduced.reshape(2, 3, 3)
    np.testing.assert_allclose(motion, [v_dot + np.cross(w, v) + 9.80665 * up, w, w_dot], rtol=1e-5)


def test_the_mean_sign_is_that_of_the_smoothed_signs_of_the_window():
    buffer, stamps, rows, centre = irregular(8, 6)
    inside = np.abs(stamps - centre) <= HALF
    weights = window_weights(1e-9 * (stamps[inside] - centre))
    sign = np.empty(2)
    window_means.mean_sign(centre, HALF, *window_of(buffer), 3, 0.5, sign)
    np.testing.assert_allclose(sign, weights.mean @ smooth_sign(rows[inside, 3:5], 0.5), rtol=1e-12)


def calls_of(name, buffer, centre):
    """Arguments of a function of a window, without what it writes, and the shape of that."""
    chain = np.zeros((2, 16))
    chain[:, [0, 4, 8]] = 1.0
    chain[0, 9:] = [0.1, 0.2, 0.3, 0.0, 0.6, 0.8, 1.0]
    joints = (np.array([1]), *np.random.default_rng(3).normal(size=(3, 2)))
    window = (centre, HALF, *window_of(buffer))
    timed = (centre, HALF, at_time(0.001), *window_of(buffer))
    return {
        "mean_and_slope": (timed, (2, 9)),
        "mean_of": (timed, (1, 9)),
        "imu_motion": ((*timed, (0, 3), chain, *joints), (3, 3)),
        "base_state_motion": ((*timed, (0, 3, 6)), (3, 3)),
        "mean_sign": ((*window, 2, 0.5), (3,)),
    }[name]


@pytest.mark.parametrize("capacity", [4, 64])
@pytest.mark.parametrize(
    "name", ["mean_and_slope", "mean_of", "imu_motion", "base_state_motion", "mean_sign"]
)
def test_compiled_functions_give_the_numbers_of_their_source(name, capacity):
    function = getattr(window_means, name)
    if not hasattr(function, "py_func"):
        pytest.skip("nothing is compiled here")
    buffer, stamps, _rows, _centre = irregular(1, 9, capacity)
    for centre in (int(stamps[0]), int(stamps[-1]) + 1, int(stamps[-1]) + 200 * MS):
        if name == "mean_sign" and centre > stamps[-1] + HALF:
            continue
        arguments, shape = calls_of(name, buffer, centre)
        outputs = [np.full(shape, 7.0), np.full(shape, 7.0)]
        more = (0,) if name == "mean_of" else ()
        results = [
            f(*arguments, out, *more) for f, out in zip((function, function.py_func), outputs, strict=True)
        ]
        assert results[0] == pytest.approx(results[1], abs=1e-12, nan_ok=True)
        np.testing.assert_allclose(*outputs, rtol=1e-11, atol=1e-11)


def joint_states_base_and_contact(count):
    """An aligner's memory with rows of joint states, a base state and a wrench, and the buffers of these."""
    memory, rng = AlignerMemory([6, 9, 6]), np.random.default_rng(11)
    buffers = [
        StampedBuffer(width, memory=stream.buffer)
        for width, stream in zip((6, 9, 6), memory.streams, strict=True)
    ]
    for buffer, rows in zip(buffers, (40, 40, count), strict=True):
        for k in range(rows):
            buffer.append(START + 2 * k * MS, rng.normal(size=buffer.rows.shape[1]))
    return memory, buffers


def reduced_together(memory, base):
    out = np.full(2 * 6 + window_means.MOTION + 3 * 6, 7.0)
    joints, contacts = np.zeros(0, dtype=np.int64), np.array([2, 1])
    inputs = ((0, 3, 6), (0, 2, 2), numbers(np.zeros((0, 16))), joints, contacts, memory.n, memory.x)
    return window_means.all_inputs(START + 40 * MS, 20 * MS, out, base, *inputs), out


def test_all_inputs_together_are_those_of_each_at_the_centroid_of_the_joint_states():
    memory, (joints, base, contact) = joint_states_base_and_contact(40)
    short, out = reduced_together(memory, (window_means.BY_STATE, 1))
    window, alone = (START + 40 * MS, 20 * MS), (np.empty((2, 6)), np.empty((3, 3)), np.zeros((3, 6)))
    time = at_time(window_weights(2e-3 * np.arange(-10, 11)).centroid)
    window_means.mean_and_slope(*window, time, *window_of(joints), alone[0])
    assert window_means.base_state_motion(*window, time, *window_of(base), (0, 3, 6), alone[1])
    assert window_means.mean_of(*window, time, *window_of(contact), alone[2], 1)
    assert short == 0
    single = np.concatenate([part.ravel() for part in alone])
    np.testing.assert_allclose(out, single, rtol=1e-12, atol=1e-12)


def test_inputs_with_too_few_rows_are_counted():
    memory, (joints, base, _contact) = joint_states_base_and_contact(2)
    assert reduced_together(memory, (window_means.FIXED, 0))[0] == 1
    base.clear()
    assert reduced_together(memory, (window_means.BY_STATE, 1))[0] == 2
    joints.clear()
    assert reduced_together(memory, (window_means.BY_STATE, 1))[0] == 1
