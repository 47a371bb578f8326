import numpy as np
import pytest
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, joints, message, parameters, swing

from inertial_estimation.inputs.alignment import Continuity
from inertial_estimation.inputs.clocks import EvenTimes, StreamClock
from inertial_estimation.inputs.config import InputConfig
from inertial_estimation.inputs.joints import JOINTS
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.inputs.stream import DropReason

HOUR = 3_600_000 * MS


def play(robot, n, begin=0, imu_shift=0, joint_shift=0, arrival=0, latency=MS // 2, stamps=None):
    """Push readings of 200 Hz from a number on, stamps moved by shifts; return the samples."""
    samples = []
    for k in range(begin, begin + n):
        stamp = START + 5 * MS * k
        position, velocity = swing(0.005 * k)
        robot.push(IMU, imu(0 if stamps == "imu" else stamp + imu_shift), stamp + latency + arrival)
        reading = joints(0 if stamps == "joints" else stamp + joint_shift, [position] * 4, [velocity] * 4)
        robot.push(JOINTS, reading, stamp + latency + arrival)
        samples += robot.ready()
    return samples


def complete(samples):
    return [sample for sample in samples if not sample.missing]


@pytest.mark.parametrize("stream", ["imu", "joints"])
def test_stamps_that_are_never_set_give_way_to_arrivals_and_health_says_so(stream):
    robot = inputs()
    samples = play(robot, 100, stamps=stream)
    assert len(complete(samples)) >= 95
    said = message(robot, IMU if stream == "imu" else JOINTS, START + 500 * MS)
    assert "zero" in said
    assert "inputs.stamps: arrival" in said


@pytest.mark.parametrize(
    ("imu_shift", "joint_shift"),
    [(-START + HOUR, 0), (0, -START + HOUR), (2 * HOUR, 0), (120 * MS, 0), (0, 200 * MS), (0, 900 * MS)],
)
def test_a_stream_on_a_clock_of_its_own_is_named_and_goes_on(imu_shift, joint_shift):
    robot = inputs()
    samples = play(robot, 500, imu_shift=imu_shift, joint_shift=joint_shift)
    assert len(complete(samples)) > 350
    odd, other = (IMU, JOINTS) if imu_shift else (JOINTS, IMU)
    at = START + 2500 * MS
    assert "a clock of its own" in message(robot, odd, at)
    assert f"inputs.arrival: [{odd}]" in message(robot, odd, at)
    assert "clock" not in message(robot, other, at)
    rows = np.array([sample.rows[JOINTS][0] for sample in complete(samples)[-50:]])
    truth = [swing(0.005 * k)[0] for k in range(450, 500)]
    np.testing.assert_allclose(rows, truth, atol=0.01)  # the shift is known to the latency of a message


@pytest.mark.parametrize("drift", [-5e-4, 5e-4])
def test_a_clock_of_its_own_that_drifts_is_followed_without_losing_a_reading(drift):
    robot, samples = inputs(), []
    for k in range(2400):
        stamp, (position, velocity) = START + 5 * MS * k, swing(0.005 * k)
        robot.push(IMU, imu(stamp, rate=[0.0, 0.0, 0.001 * (k % 7)]), stamp)
        own = stamp + 200 * MS + round(drift * 5 * MS * k)
        robot.push(JOINTS, joints(own, [position] * 4, [velocity] * 4), stamp)
        samples += robot.ready()
    late = samples[600:]
    assert not any(sample.missing for sample in late)
    truth = [swing(1e-9 * (sample.time_ns - START))[0] for sample in late]
    np.testing.assert_allclose([sample.rows[JOINTS][0] for sample in late], truth, atol=2e-3)


@pytest.mark.parametrize("shift", [-START + HOUR, -3000 * MS, HOUR])
@pytest.mark.parametrize("arrival", [(), (JOINTS,)])
def test_the_clock_nearest_to_the_arrivals_is_right_also_where_most_have_another_one(arrival, shift):
    robot, samples = inputs(parameters(inputs__arrival=arrival)), []
    for k in range(900):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp, rate=[0.0, 0.0, 0.001 * (k % 7)]), stamp)
        for names in (JOINTS_OF[:2], JOINTS_OF[2:]):  # in parts
            robot.push(JOINTS, joints(stamp + shift, [1e-4 * k] * 4, [0.02] * 4, names=names), stamp)
        samples += robot.ready()
    assert len(complete(samples[-200:])) == 200
    assert message(robot, IMU, stamp) == "arriving"
    assert ("set inputs.arrival: [joint_states]" in message(robot, JOINTS, stamp)) != bool(arrival)


def test_readings_that_arrive_long_after_their_stamps_are_said_to_arrive():
    """Behind by less than `JUMP_NS` it may be a delay, for which no step waits."""
    robot = inputs()
    samples = play(robot, 500, joint_shift=-600 * MS)
    assert not complete(samples[50:])
    said = message(robot, JOINTS, START + 2500 * MS)
    assert "readings arrive 0.6" in said
    assert f"inputs.arrival: [{JOINTS}]" in said


@pytest.mark.parametrize("shift", [-HOUR, HOUR, 20 * 1000 * MS])
def test_a_single_stray_stamp_changes_nothing(shift):
    robot = inputs()
    play(robot, 50)
    robot.push(IMU, imu(START + 250 * MS + shift), START + 250 * MS)
    samples = play(robot, 50, begin=51)
    assert all(sample.continuity is Continuity.CONTINUOUS for sample in samples)
    assert robot.streams[IMU].drops.counts[DropReason.STRAY_STAMP] == 1
    for k in range(101, 1201):  # some have no stamp
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp if k % 10 else 0, rate=[0.001 * (k % 7), 0.0, 0.0]), stamp + 12 * MS)
    assert robot.streams[IMU].drops.counts == {DropReason.STRAY_STAMP: 1, DropReason.ZERO_STAMP: 110}


@pytest.mark.parametrize("shift", [-HOUR, 0.5 * 1000 * MS, HOUR])
def test_a_second_publisher_on_another_clock_is_dropped(shift):
    robot = inputs()
    play(robot, 20)
    samples = []
    for k in range(20, 120):
        samples += play(robot, 1, begin=k)
        robot.push(IMU, imu(START + 5 * MS * k + int(shift)), START + 5 * MS * k + MS)
    assert len(complete(samples)) >= 99
    assert f"s {'back' if shift < 0 else 'ahead'}: a second publisher" in robot.streams[IMU].drops.summary


@pytest.mark.parametrize("shift", [-HOUR, HOUR])
def test_one_clock_that_jumps_is_followed_within_a_third_of_a_second(shift):
    robot = inputs()
    play(robot, 100)
    during = play(robot, 100, begin=100, joint_shift=shift)
    assert all(sample.continuity is Continuity.CONTINUOUS for sample in during)
    after = play(robot, 100, begin=200)
    for samples in (during, after):  # and not before 0.3 s, in which it may be a stray publisher
        assert 60 <= sum(bool(sample.missing) for sample in samples) <= 67
        assert not samples[-1].missing


def test_all_clocks_that_step_back_with_another_motion_begin_anew():
    robot = inputs()
    play(robot, 400)
    robot.push(
        JOINTS, joints(START, [1.4] * 4, [0.0] * 4), START + 2001 * MS
    )  # a recording that begins again
    samples = []
    for k in range(60):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp), stamp + 2001 * MS)
        robot.push(JOINTS, joints(stamp, [1.4] * 4, [0.0] * 4), stamp + 2001 * MS)
        samples += robot.ready()
    assert [s.continuity for s in samples[:2]] == [Continuity.RESTARTED, Continuity.CONTINUOUS]
    assert samples[-1].stamp_ns == START + 295 * MS


@pytest.mark.parametrize("shift", [-HOUR, HOUR])
def test_all_clocks_that_are_set_while_the_motion_goes_on_keep_what_was_learned(shift):
    robot = inputs()
    play(robot, 100)
    samples = play(robot, 100, begin=100, imu_shift=shift, joint_shift=shift)
    assert Continuity.RESTARTED not in [sample.continuity for sample in samples]
    assert Continuity.AFTER_GAP in [sample.continuity for sample in samples]
    assert not samples[-1].missing


def test_a_stall_of_the_scheduler_costs_nothing():
    """All messages of two seconds arrive at once: every one of them is used, without a restart."""
    robot = inputs()
    samples = play(robot, 100)
    late = START + 2500 * MS
    for k in range(100, 500):
        position, velocity = swing(0.005 * k)
        robot.push(IMU, imu(START + 5 * MS * k), late + k)
        robot.push(JOINTS, joints(START + 5 * MS * k, [position] * 4, [velocity] * 4), late + k)
        samples += robot.ready()
    samples += play(robot, 20, begin=500)
    assert len(complete(samples)) == 520
    assert [sample.continuity for sample in samples[1:]] == [Continuity.CONTINUOUS] * 519


@pytest.mark.parametrize("mode", ["auto", "as_is"])
def test_readings_whose_stamps_are_coarser_than_they_come_are_all_used(mode):
    robot = inputs(parameters(inputs__stamps=mode))
    for k in range(400):
        stamp, (position, velocity) = START + 5 * MS * k, swing(0.005 * k)
        coarse = stamp // (10 * MS) * 10 * MS
        robot.push(IMU, imu(coarse, rate=[0.0, 0.0, 0.001 * k]), stamp)
        robot.push(JOINTS, joints(coarse, [position] * 4, [velocity] * 4), stamp)
    for name in (IMU, JOINTS):
        stream = robot.streams[name]
        times = stream.ring.times[: stream.ring.end]
        assert (stream.drops.total, len(times)) == (0, 400)
        assert (np.diff(times) > 0).all()
        assert np.abs(times - START - 5 * MS * np.arange(400))[250:].max() <= 5.01 * MS
        assert (np.diff(times)[250:].max() < 5.1 * MS) == (mode == "auto")


@pytest.mark.parametrize("mode", ["auto", "regularise"])
@pytest.mark.parametrize("before", [0, 450])
def test_a_clock_may_stand_still_for_a_while(mode, before):
    even, counts = EvenTimes(mode), np.arange(before + 1000)
    stamps = START + 5 * MS * np.where(counts < before + 500, np.minimum(counts, before), counts)
    times = np.array([even.time_of(stamp) for stamp in stamps.tolist()])
    assert (np.diff(times) > 0).all()
    assert abs(times[-1] - stamps[-1]) <= 5 * MS


def test_equal_and_backward_stamps_are_dropped_and_named():
    robot = inputs()
    play(robot, 20)
    robot.push(IMU, imu(START + 95 * MS), START + 100 * MS)
    robot.push(IMU, imu(START + 60 * MS), START + 101 * MS)
    counts = robot.streams[IMU].drops.counts
    assert counts == {DropReason.EQUAL_STAMP: 1, DropReason.BACKWARD_STAMP: 1}
    assert "0.035 s back" in message(robot, IMU, START + 101 * MS)


T = 10_000_000
BEGIN = 1_600_000_000_000_000_000


def bursts(rng, n, share=0.15, longest=16, latency=0.03):
    """Times and arrivals of samples whose transport stalls now and then and then delivers at once."""
    true = np.arange(n, dtype=np.int64) * T + BEGIN
    arrival = true + (latency * T * rng.random(n)).astype(np.int64)
    i = 0
    while i < n:
        if rng.random() < share:
            stop = min(n, i + int(rng.integers(2, longest)))
            arrival[i:stop] = true[stop - 1] + 50_000 * np.arange(1, stop - i + 1)
            i = stop
        else:
            i += 1
    return true, np.maximum.accumulate(arrival + np.arange(n))


def times_of(stamps, mode="auto"):
    even = EvenTimes(mode)
    return np.array([even.time_of(int(stamp)) for stamp in stamps]), even


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.005, 0.03, 0.15])
def test_bursts_become_even_be_they_rare_or_frequent_and_no_sample_is_taken_after_it_arrives(seed, share):
    true, arrival = bursts(np.random.default_rng(seed), 3000, share)
    times, even = times_of(arrival)
    assert even.even
    assert np.diff(times).min() > 0
    assert (arrival - times)[500:].min() > -0.1 * T
    assert np.abs(times - true)[500:].max() < 0.1 * T
    assert np.abs(np.diff(times[500:]) - T).max() < 0.1 * T


@pytest.mark.parametrize("samples", [2, 3, 10, 50])
def test_groups_of_samples_are_bursts(samples):
    index = np.arange(3000)
    stamps = (index // samples + 1) * samples * T + index % samples * 20_000
    times, _even = times_of(stamps)
    np.testing.assert_allclose(np.diff(times[-1000:]), T, rtol=0.1)


N = 4000
PLAIN = {
    "large steps": lambda rng: np.cumsum(T + (0.5 * T * rng.uniform(-1.0, 1.0, N)).astype(np.int64)),
    "normal": lambda rng: deviating(rng.normal(0.0, 0.4, N)),
    "late": lambda rng: deviating(rng.exponential(0.5, N)),
    "lost samples": lambda rng: np.cumsum(T * rng.choice([1, 2, 3], N, p=[0.8, 0.15, 0.05])),
}


def deviating(deviation):
    return np.unique(np.maximum.accumulate(((np.arange(N) + deviation) * T).astype(np.int64)))


@pytest.mark.parametrize("kind", PLAIN)
def test_jitter_and_lost_samples_without_bursts_leave_the_stamps_alone(kind):
    stamps = PLAIN[kind](np.random.default_rng(100))
    times, even = times_of(stamps)
    assert times.tolist() == stamps.tolist()
    assert not even.even


@pytest.mark.parametrize(("fast", "slow"), [(1_000_000, T), (T, 1_000_000), (2_000_000, 5_000_000)])
def test_a_change_of_the_rate_is_followed(fast, slow):
    steps = np.r_[np.full(300, slow), np.full(1000, fast), np.full(300, slow)]
    stamps = np.cumsum(steps + np.random.default_rng(0).integers(-10_000, 10_000, 1600))
    times, _even = times_of(stamps)
    assert np.diff(times).min() > 0
    assert np.abs(stamps - times)[1000:1300].max() < 4 * fast
    assert np.abs(stamps - times)[-200:].max() < 0.1 * slow


@pytest.mark.parametrize(("lost", "factor"), [(30, 1.0), (100, 1.0), (0, 0.5), (0, 0.8), (0, 1.2)])
def test_lost_samples_of_a_bursty_stream_and_another_rate_are_caught_up_with(lost, factor):
    true, arrival = bursts(np.random.default_rng(3), 4000)
    kept = np.r_[0:1500, 1500 + lost : 4000]
    later = [
        (t + (factor - 1.0) * np.maximum(t - true[1500], 0)).astype(np.int64)[kept] for t in (true, arrival)
    ]
    off = np.abs(times_of(later[1])[0] - later[0])
    assert off[1580 if lost else 1800 :].max() < (0.5 if lost else 0.1) * T


def test_as_is_never_changes_a_stamp_and_reset_forgets():
    _true, arrival = bursts(np.random.default_rng(3), 500)
    assert times_of(arrival, "as_is")[0].tolist() == arrival.tolist()
    _times, even = times_of(arrival)
    even.reset()
    assert even.time_of(123) == 123


def test_a_time_is_the_stamp_less_the_delay_on_the_clock_of_the_others_and_no_two_arrivals_are_equal():
    clock = StreamClock(InputConfig(), delay=0.01, by_arrival=True)
    assert clock.time_of(START, START) == START - 10 * MS
    assert [clock.from_arrival(at) for at in (START, START + 5)] == [START + 1, START + 5]
    assert not clock.unset
    clock = StreamClock(InputConfig(stamps="as_is"), delay=0.01)
    clock.offset_ns = HOUR
    assert clock.time_of(START, START + MS) == START + HOUR - 10 * MS


def test_the_shift_of_a_clock_is_that_of_the_least_delayed_reading_of_two_blocks():
    clock, shifts = StreamClock(InputConfig()), []
    for block, latencies in enumerate([(5, 2, 3), (4, 6), (8, 7)]):
        stamp = START + 1000 * MS * block
        for k, latency in enumerate(latencies):
            clock.time_of(stamp + k * MS, stamp + (k + latency) * MS)
        clock.next_block(stamp + 900 * MS)
        shifts.append(clock.shift_ns)
    assert shifts == [-2 * MS, -2 * MS, -4 * MS]
    assert clock.next_ns == START + 3900 * MS


def test_stamps_that_are_no_longer_set_are_faults_until_there_are_many():
    clock = StreamClock(InputConfig())
    clock.time_of(START, START)
    found = [clock.from_arrival(START + k * MS) for k in range(1, 52)]
    assert found == [None] * 49 + [START + 50 * MS, START + 51 * MS]
    assert clock.unset
    assert not clock.votes
