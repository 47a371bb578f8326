"""A recording becomes uniform blocks, or postures: what was measured, nothing made up, all losses counted."""

import gc
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from support.arm_robot import JOINTS, URDF

from inertial_estimation.configuration.urdf_source import read_urdf
from inertial_estimation.errors import RecordingError
from inertial_estimation.inputs.config import InputConfig, RobotConfig
from inertial_estimation.inputs.joints import JointNeeds
from inertial_estimation.inputs.messages import IMU_TYPE, JOINT_STATE_TYPE, QUATERNION_TYPE, WRENCH_TYPE
from inertial_estimation.models.contacts import ContactFrames
from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_config import JointOffsets, RobotSetup
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.offline import signal_blocks
from inertial_estimation.offline.postures import read_bag_postures
from inertial_estimation.offline.signal_blocks import GAPS, BlockStream
from inertial_estimation.recordings.recorded_topics import RecordedTopics
from inertial_estimation.recordings.recording import MemoryRecording, RecordingEntry
from inertial_estimation.signals import ImuSample, JointReading, OrientationSample, WrenchSample

START = 1_700_000_000_000_000_000
TOPICS = RecordedTopics(("foot",))
TYPES = {"/joint_states": JOINT_STATE_TYPE, "/imu/data": IMU_TYPE, "/foot/wrench": WRENCH_TYPE}
WIDE = URDF.replace('effort="50"', 'effort="1e4"').replace('effort="100"', 'effort="1e4"')
WIDE = WIDE.replace('"-3"', '"-1e3"').replace('"3"', '"1e3"').replace('"10"', '"1e3"')
ROBOT = RobotModel.from_urdf(WIDE)
IMU = ImuMount.on(ROBOT, "base")
ARM = RobotSetup(ROBOT, (), None)
WITH_IMU = RobotSetup(ROBOT, (), IMU)
ALL = RobotSetup(ROBOT, (ContactFrames("foot", "lower", "lower"),), IMU)


SPEEDS = np.array([1.0, 2.0])  # of the positions below


def line(t_s, width, slope=1.0):
    """A signal linear in time: linear interpolation must give it back exactly."""
    return slope * np.arange(1, width + 1) * t_s + np.arange(width)


def joints(stamp_ns, *, position=None, names=("elbow", "other", "shoulder")):
    t = (stamp_ns - START) * 1e-9
    values = [line(t, 2), SPEEDS, line(t, 2, 30.0)]
    values[0] = values[0] if position is None else position
    where = {"shoulder": 0, "elbow": 1}
    fields = [np.array([v[where[name]] if name in where else 7.0 for name in names]) for v in values]
    return JointReading(stamp_ns, names, *fields)


def imu(stamp_ns):
    t = (stamp_ns - START) * 1e-9
    return ImuSample(stamp_ns, line(t, 3), line(t, 3, -1.0))


def wrench(stamp_ns):
    return WrenchSample(stamp_ns, line((stamp_ns - START) * 1e-9, 6))


def recording(joint_stamps, imu_stamps=(), wrench_stamps=(), extra=()):
    entries = [RecordingEntry("/joint_states", s, joints(s)) for s in joint_stamps]
    entries += [RecordingEntry("/imu/data", s, imu(s)) for s in imu_stamps]
    entries += [RecordingEntry("/foot/wrench", s, wrench(s)) for s in wrench_stamps]
    entries += [RecordingEntry("/joint_states", log, sample) for log, sample in extra]
    return MemoryRecording(tuple(sorted(entries, key=lambda e: e.log_ns)), TYPES)


def stream(source, setup=ARM, *, velocities=True, efforts=True, **inputs):
    config = RobotConfig(inputs=InputConfig(**inputs))
    return BlockStream(source, TOPICS, setup, config, JointNeeds(velocities, efforts))


def joined(blocks):
    blocks = list(blocks)
    names = ("stamps_ns", "q", "v", "tau", "f_I", "w_I", "wrenches")
    columns = {name: [getattr(block, name) for block in blocks] for name in names}
    return {name: np.concatenate(parts) for name, parts in columns.items() if parts[0] is not None}


def assert_follows_the_lines(blocks, *, joint_delay=0.0, imu_delay=0.0, tolerance=1e-9):
    """At its time, less the delay, each sample is what a perfect sensor would have sent."""
    for block in blocks:
        t = (block.stamps_ns - START) * 1e-9
        for name, slope in (("q", 1.0), ("tau", 30.0)):
            expected = np.array([line(ti + joint_delay, 2, slope) for ti in t])
            np.testing.assert_allclose(getattr(block, name), expected, atol=tolerance * 60)
        np.testing.assert_allclose(block.v, np.tile(SPEEDS, (block.size, 1)))
        if block.f_I is not None:
            np.testing.assert_allclose(block.f_I, [line(ti + imu_delay, 3) for ti in t], atol=tolerance * 60)
        if block.wrenches is not None:
            np.testing.assert_allclose(block.wrenches[:, 0], [line(ti, 6) for ti in t], atol=tolerance * 60)


def uniform(period_ns, count, start=START):
    return [start + k * period_ns for k in range(count)]


def test_uniform_input_passes_through_unchanged(monkeypatch):
    monkeypatch.setattr(signal_blocks, "LONGEST_S", 1.0)
    stamps = uniform(4_000_000, 700)
    source = recording(stamps, stamps, stamps)
    blocks = list(stream(source, ALL).blocks())
    assert [block.size for block in blocks] == [250, 250, 200]
    got = joined(blocks)
    np.testing.assert_array_equal(got["stamps_ns"], stamps)
    readings = [joints(stamp, names=JOINTS) for stamp in stamps]
    np.testing.assert_array_equal(got["q"], [reading.position for reading in readings])
    np.testing.assert_array_equal(got["tau"], [reading.effort for reading in readings])
    np.testing.assert_array_equal(got["f_I"], [imu(stamp).specific_force_I for stamp in stamps])
    np.testing.assert_array_equal(got["wrenches"][:, 0], [wrench(stamp).wrench_F for stamp in stamps])


def test_irregular_stamps_and_other_rates_are_interpolated_at_the_median_step():
    rng = np.random.default_rng(1)
    steps = rng.choice([4_900_000, 5_000_000, 5_100_000, 9_000_000], 800, p=[0.3, 0.4, 0.2, 0.1])
    stamps = START + np.cumsum(steps)
    slow = uniform(11_000_000, 500)
    made = stream(recording(stamps.tolist(), slow, slow), ALL, joint_delay=0.02, imu_delay=-0.03)
    blocks = list(made.blocks())
    assert blocks[0].step_s == pytest.approx(0.005)
    assert_follows_the_lines(blocks, joint_delay=0.02, imu_delay=-0.03)
    assert not [name for name in made.dropped if "gap" in name]


def test_a_gap_begins_a_new_segment_and_is_not_interpolated_over():
    stamps = [*uniform(5_000_000, 300), *uniform(10_000_000, 100, START + 2_000_000_000)]
    made = stream(recording(stamps), timeout=0.05)
    blocks = list(made.blocks())
    assert [block.size for block in blocks] == [300, 199], "at the step of the first one"
    assert_follows_the_lines(blocks)
    assert made.dropped == {f"joint_states: {GAPS}": 1}
    assert blocks[1].start_ns == START + 2_000_000_000


def test_joint_states_without_another_input_are_counted_and_left_out():
    stamps = uniform(5_000_000, 1000)
    present = [s for s in stamps if not START + 1_000_000_000 < s < START + 2_000_000_000]
    made = stream(recording(stamps, present, stamps), ALL)
    blocks = list(made.blocks())
    assert blocks[1].start_ns == START + 2_000_000_000
    assert made.dropped["joint_states: no imu/data at its time"] == 199
    assert sum(block.size for block in blocks) == 1000 - 199


def test_bad_readings_are_counted_by_reason_and_good_ones_remain():
    stamps = uniform(5_000_000, 400)
    nan = joints(stamps[0] + 1_000_000, position=np.array([np.nan, 0.0]))
    extra = [
        (stamps[50] + 1, nan),
        (stamps[60] + 1, joints(stamps[60])),
        (stamps[70] + 1, joints(stamps[10])),
        (stamps[80] + 1, joints(stamps[80] + 1, names=("elbow", "other"))),  # a part, not needed
    ]
    made = stream(recording(stamps, extra=extra))
    blocks = list(made.blocks())
    np.testing.assert_array_equal(joined(blocks)["stamps_ns"], stamps)
    assert made.dropped["joint_states: not finite"] == 1
    assert made.dropped["joint_states: equal stamp"] == 1
    assert made.dropped["joint_states: backward stamp"] == 1
    assert sum(made.dropped.values()) == 3


@pytest.mark.parametrize("velocity", [None, np.full(2, np.nan)])
def test_what_is_not_needed_may_be_missing_and_velocities_are_never_derived_causally(velocity):
    stamps = uniform(5_000_000, 100)
    readings = [JointReading(s, JOINTS, np.zeros(2), velocity) for s in stamps]
    source = MemoryRecording(tuple(RecordingEntry("/joint_states", r.stamp_ns, r) for r in readings), TYPES)
    (block,) = stream(source, velocities=False, efforts=False).blocks()
    assert (block.size, block.v, block.tau) == (100, None, None)
    with pytest.raises(RecordingError, match=r"gives no sample.*no effort.*\(100\)"):
        list(stream(source, velocities=False).blocks())
    with pytest.raises(RecordingError, match=r"'smoothing.differentiate: position' needs none"):
        list(stream(source, efforts=False).blocks())


class Endless(MemoryRecording):
    """A recording made while it is read, between two messages; one input stops after a second."""

    def entries(self, topics, start_ns=None) -> Iterator[RecordingEntry]:
        zero, count = np.zeros(3), (self.end_ns - self.start_ns) // 1_000_000
        for k in range(count):
            stamp = START + k * 1_000_000
            yield RecordingEntry(
                "/joint_states", stamp, JointReading(stamp, JOINTS, zero[:2], zero[:2], zero[:2])
            )
            if k < 1000 or k > count - 500:
                yield RecordingEntry("/imu/data", stamp, ImuSample(stamp, zero, zero))


def peak_bytes(count: int) -> int:
    ends = recording([START, START + count * 1_000_000]).messages
    made = stream(Endless(ends, TYPES), WITH_IMU)
    gc.collect()  # of what ran before
    tracemalloc.start()
    samples = sum(block.size for block in made.blocks())
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert samples == 1000 + 498  # the first one after the silence is not waited for
    assert made.dropped["joint_states: no imu/data at its time"] == count - samples
    return peak


def test_memory_does_not_grow_while_an_input_is_silent():
    peak_bytes(3_000)  # what is imported and cached at first use
    assert peak_bytes(5_000) < 1.05 * peak_bytes(3_000)


SPEED = 0.1  # of all joints [rad/s]
UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def panda():
    urdf = read_urdf("example-robot-data:panda")
    return RobotModel.from_urdf(urdf, floating_base=False, locked_joints=["panda_finger_joint*"])


def table(robot, stamps_s, config=RobotConfig(), parts=1, **changes):  # noqa: B008
    entries = []
    for t in stamps_s:
        stamp = round((t + 5.0) * 1e9)
        q = np.full(robot.n_joints, SPEED * t)
        for names, part in zip(
            np.array_split(robot.joint_names, parts), np.array_split(q, parts), strict=True
        ):
            entries.append(RecordingEntry("/joints", stamp, JointReading(stamp, tuple(names.tolist()), part)))
    for t in np.arange(0.0, 4.0, 0.05):
        stamp = round((t + 5.0) * 1e9)
        entries.append(RecordingEntry("/imu", stamp, OrientationSample(stamp, UPRIGHT)))
    recording = MemoryRecording(tuple(entries), {"/joints": JOINT_STATE_TYPE, "/imu": QUATERNION_TYPE})
    arguments = {"interval_s": 0.8, "held_out_interval_s": 0.4, "joints": robot.joint_names, **changes}
    return read_bag_postures(
        recording, robot, config, joint_topic="/joints", imu_topics={"panda_link0": "/imu"}, **arguments
    )


def test_postures_are_those_of_their_times_whatever_the_stamps(panda):
    rng = np.random.default_rng(0)
    stamps = np.arange(0.0, 3.0, 0.01) + np.concatenate(([0.0], 4e-3 * rng.uniform(-1.0, 1.0, 299)))
    found = table(panda, stamps)
    expected = SPEED * 0.4 * np.arange(8)
    assert len(found.q) == 8
    assert np.abs(found.q - expected[:, None]).max() < SPEED * 0.01
    assert found.held_out.tolist() == [False, True] * 4


def test_a_gap_gives_no_posture_instead_of_a_later_one(panda):
    stamps = np.arange(0.0, 3.0, 0.01)
    found = table(panda, stamps[(stamps < 0.6) | (stamps > 1.05)])
    assert len(found.q) == 7
    assert found.dropped == {"incomplete or moving": 1}
    assert not np.isclose(found.q[:, 0], SPEED * 0.8, atol=SPEED * 0.3).any()


def test_several_orientations_near_a_posture_are_one_orientation(panda):
    found = table(panda, np.arange(0.0, 3.0, 0.01))
    quaternions = found.stacked([f"panda_link0/{name}" for name in ("qx", "qy", "qz", "qw")], "bag")
    np.testing.assert_allclose(quaternions, np.tile(UPRIGHT, (8, 1)), atol=1e-12)


def test_joint_states_in_parts_make_whole_postures_without_the_known_offsets(panda):
    stamps = np.arange(0.0, 3.0, 0.01)
    offsets = JointOffsets((panda.joint_names[0],), (0.3,))
    found = table(panda, stamps, RobotConfig(joint_offsets=offsets), parts=2)
    assert len(found.q) >= 7
    assert np.ptp(found.q, axis=1).max() < SPEED * 0.011, "all joints have one position"
    np.testing.assert_allclose(np.diff(found.q[:, 0]), SPEED * 0.4, atol=SPEED * 0.011)
