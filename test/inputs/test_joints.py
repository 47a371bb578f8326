from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.input_scenes import JOINTS_OF, MS, START, imu, inputs, joints, message, parameters, setup, swing

from inertial_estimation.inputs.alignment import Steps
from inertial_estimation.inputs.joints import JOINTS, JointNeeds
from inertial_estimation.inputs.sensors import IMU
from inertial_estimation.inputs.stream import DropReason
from inertial_estimation.signals import JointReading

LEFT, RIGHT = JOINTS_OF[:2], JOINTS_OF[2:]


def at(t):
    """Positions and velocities of the four joints at a time [s]."""
    return np.array([swing(t, k) for k in range(4)]).T


def parts(
    robot, until, sets=((LEFT, 0.0), (RIGHT, 0.0007)), rates=(250, 250), sources=(JOINTS, JOINTS), end=9.0
):
    """Push an IMU and joint states in parts; the last part ends at a time [s]; return the samples."""
    events = [(k / 250, None) for k in range(int(250 * until))]
    for part, (_names, later) in enumerate(sets):
        events += [(k / rates[part] + later, part) for k in range(int(rates[part] * until))]
    samples = []
    for t, part in sorted(events, key=lambda event: event[0]):
        stamp = START + round(1e9 * t)
        if part is None:
            robot.push(IMU, imu(stamp), stamp)
        elif part < len(sets) - 1 or t < end:
            names = sets[part][0]
            q, v = at(t)[:, [JOINTS_OF.index(name) for name in names]]
            robot.push(JOINTS, JointReading(stamp, names, q, v, 5.0 * q), stamp, "", sources[part])
        samples += robot.ready()
    return samples


def said_of(robot, milliseconds):
    """What health says of the joint states at a time."""
    return message(robot, JOINTS, START + milliseconds * MS)


def errors(robot, samples):
    """Largest error of positions and velocities at the times of the samples."""
    q, v = robot.joints.columns.q, robot.joints.columns.v
    rows = [(s.rows[JOINTS], at(1e-9 * (s.time_ns - START))) for s in samples]
    return max(np.abs(row[q] - t[0]).max() for row, t in rows), max(
        np.abs(row[v] - t[1]).max() for row, t in rows
    )


@pytest.mark.parametrize("rates", [(250, 250), (250, 100), (100, 400)])
@pytest.mark.parametrize("sources", [(JOINTS, JOINTS), ("left/joint_states", "right/joint_states")])
def test_parts_are_joined_by_name_with_each_joint_at_its_own_stamp(rates, sources):
    robot = inputs(parameters(joint_states__topics=sources), needs=JointNeeds(efforts=True))
    samples = parts(robot, 1.0, rates=rates, sources=sources)
    whole = [sample for sample in samples if not sample.missing]
    assert len(whole) > 220
    position, velocity = errors(robot, whole)
    assert position < 5e-4  # of linear interpolation over 10 ms
    assert velocity < 2e-3
    rows, columns = np.array([sample.rows[JOINTS] for sample in whole]), robot.joints.columns
    np.testing.assert_allclose(rows[:, columns.tau], 5.0 * rows[:, columns.q], atol=1e-12)
    assert said_of(robot, 1000) == "arriving"
    stream = robot.streams[JOINTS]
    assert stream.ring.total <= stream.received < stream.ring.total + 5  # a part may wait for the other one


def test_another_timeout_counts_for_parts_as_well():
    assert all(sample.missing for sample in parts(inputs(), 1.0, rates=(7, 7)))
    patient = inputs(parameters(inputs__timeout=0.5))
    assert not any(sample.missing for sample in parts(patient, 3.0, rates=(7, 7))[-100:])


def test_a_part_that_ends_is_named_and_its_joints_are_missing():
    robot = inputs()
    samples = parts(robot, 1.5, end=0.5)
    assert all(sample.missing == (JOINTS,) for sample in samples if sample.time_ns > START + 700 * MS)
    said = said_of(robot, 1500)
    assert "R_hip, R_knee ended 1.00 s ago" in said


def test_joints_that_no_message_has_are_named_with_the_remedy():
    robot = inputs()
    samples = parts(robot, 0.5, sets=((LEFT, 0.0),), rates=(250,))
    assert all(sample.missing for sample in samples)
    said = said_of(robot, 500)
    assert "no message has R_hip, R_knee" in said
    assert "locked_joints" in said
    assert "joint_states.topics" in said


def test_two_publishers_of_one_joint_with_different_values_are_named():
    robot = inputs()
    for k in range(100):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp), stamp)
        robot.push(JOINTS, joints(stamp, [0.1] * 4), stamp, "", "joint_states")
        robot.push(
            JOINTS, joints(stamp + MS, [0.6], [0.0], names=("R_hip",)), stamp + MS, "", "gripper/joint_states"
        )
    samples = robot.ready()
    said = said_of(robot, 500)
    assert all(f in said for f in ("R_hip", "0.1 rad by joint_states", "0.6 rad by gripper/joint_states"))
    assert {float(sample.rows[JOINTS][2]) for sample in samples[5:]} == {0.1}


def test_joints_whose_positions_are_nan_come_from_another_message_and_a_single_nan_is_a_fault():
    robot = inputs()
    for k in range(100):
        stamp, (q, v) = START + 5 * MS * k, at(0.005 * k)
        robot.push(IMU, imu(stamp), stamp)
        robot.push(JOINTS, JointReading(stamp, JOINTS_OF, [*q[:3], np.nan], v), stamp)
        rest = (values[3:] for values in at(0.005 * k + 0.001))
        robot.push(JOINTS, JointReading(stamp + MS, JOINTS_OF[3:], *rest), stamp + MS)
    whole = [sample for sample in robot.ready() if not sample.missing]
    assert len(whole) > 95
    assert max(errors(robot, whole)) < 1e-3
    assert said_of(robot, 500) == "arriving"
    robot = inputs()
    for k in range(100):
        q, v = at(0.005 * k)
        q[2] = np.nan if k == 50 else q[2]
        robot.push(JOINTS, JointReading(START + 5 * MS * k, JOINTS_OF, q, v), START + 5 * MS * k)
    assert robot.streams[JOINTS].ring.total == 99
    assert "not finite: position of R_hip is nan" in said_of(robot, 500)


def test_names_in_another_order_in_every_message_and_joints_of_others_are_right():
    robot, rng = inputs(), np.random.default_rng(0)
    for k in range(60):
        stamp = START + 5 * MS * k
        names = (*JOINTS_OF, "gripper", "wheel")
        order = rng.permutation(len(names))
        q, v = at(0.005 * k)
        q, v = np.r_[q, 7.0, 8.0], np.r_[v, 7.0, 8.0]
        robot.push(IMU, imu(stamp), stamp)
        robot.push(JOINTS, JointReading(stamp, tuple(names[i] for i in order), q[order], v[order]), stamp)
    samples = robot.ready()
    assert len(robot.joints.parts) == 1
    assert max(errors(robot, samples[1:])) < 1e-9


@pytest.mark.parametrize(
    ("config", "rename"),
    [
        ({}, "go1/{}"),
        ({"joint_names__prefix": "a_"}, "a_{}"),
        ({"joint_names__map": [f"m{k}={name}" for k, name in enumerate(JOINTS_OF)]}, "m{}"),
        ({"joint_names__order": list(JOINTS_OF)}, ""),
    ],
)
def test_prefixes_are_recognised_and_names_are_mapped_or_ordered(config, rename):
    robot = inputs(parameters(**config))
    mapped = range(4) if rename == "m{}" else JOINTS_OF
    names = tuple(rename.format(name) for name in mapped)
    for k in range(10):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp), stamp)
        robot.push(JOINTS, joints(stamp, names=names), stamp)
    assert not robot.ready()[-1].missing
    said = said_of(robot, 45)
    assert ("go1/" in said and "joint_names.prefix" in said) if not config else said == "arriving"


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of squares that overflow
@pytest.mark.parametrize("velocity", [None, 50.0, 1e9, 1e200, np.inf, np.nan])
def test_velocities_that_are_not_needed_drop_nothing(velocity):
    robot = inputs(needs=JointNeeds(velocities=False))
    robot.push(IMU, imu(START), START)
    sent = None if velocity is None else [velocity] * 4
    robot.push(JOINTS, JointReading(START, JOINTS_OF, [0.1] * 4, sent), START)
    row, columns = robot.ready()[0].rows[JOINTS], robot.joints.columns
    assert row[columns.q].tolist() == [0.1] * 4
    np.testing.assert_array_equal(row[columns.v], 50.0 if velocity == 50.0 else np.nan)


@pytest.mark.parametrize(
    ("config", "efforts", "sent", "said"),
    [
        ({}, False, {"names": ("L_hip", "L_hip", "R_hip", "R_knee")}, "names L_hip more than once"),
        ({}, False, {"names": ("",) * 4}, "4 positions and no names: set joint_names.order"),
        ({}, True, {"v": None}, "no effort"),
        ({"inputs__joint_velocity": "measured"}, False, {"v": None}, "velocity of L_hip: not sent"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(config, efforts, sent, said):
    robot = inputs(parameters(**config), needs=JointNeeds(efforts=efforts))
    robot.push(JOINTS, joints(START, **sent), START)
    assert said in robot.streams[JOINTS].drops.summary


@pytest.mark.parametrize("lost", ["now and then", "from then on"])
def test_single_efforts_of_nan_are_faults_and_those_that_stay_away_are_not_measured(lost):
    robot = inputs(needs=JointNeeds(efforts=True, effort_gaps=True))
    for k in range(200):
        effort = np.nan if k > 100 and (k % 5 == 0 or lost == "from then on") else 1.0
        robot.push(JOINTS, joints(START + 5 * MS * k, tau=[1.0, effort, 1.0, 1.0]), 0)
    _times, rows = robot.streams[JOINTS].ring.newest(80)
    drops = robot.streams[JOINTS].drops
    assert np.isnan(rows[:, 9]).any() == (lost == "from then on")
    assert 15 <= drops.counts[DropReason.NOT_FINITE] <= 20  # of each fifth, or of 0.1 s
    assert drops.summary == "not finite: effort of L_knee is nan"


@pytest.mark.parametrize("together", [True, False])
def test_joints_of_two_robots_are_not_taken_for_one(together):
    robot = inputs()
    for k in range(40):
        left, right = (tuple(f"{side}/{name}" for name in JOINTS_OF) for side in ("one", "two"))
        if together:
            reading = JointReading(START + 5 * MS * k, left + right, [0.1] * 4 + [0.2] * 4, np.zeros(8))
            robot.push(JOINTS, reading, 0)
        else:
            robot.push(JOINTS, joints(START + 5 * MS * k, [0.1] * 4, names=left), 0)
            robot.push(JOINTS, joints(START + 5 * MS * k + MS, [0.2] * 4, names=right), 0)
    said = said_of(robot, 200)
    assert "the joints of the model are there with 'one/', 'two/': set joint_names.prefix" in said
    assert robot.streams[JOINTS].ring.total == (0 if together else 40)


def test_messages_of_other_joints_on_the_same_topic_are_no_fault_once_there_are_own_ones():
    robot = inputs()
    for k in range(40):
        gripper = JointReading(START + 5 * MS * k, ("finger_1", "finger_2"), np.zeros(2))
        robot.push(JOINTS, gripper, 0)
        assert k or "no joint of the model, it has finger_1, finger_2" in said_of(robot, 0)
        robot.push(JOINTS, joints(START + 5 * MS * k), 0)
    assert robot.streams[JOINTS].drops.total == 1
    assert robot.streams[JOINTS].ring.total == 40


def test_efforts_that_nobody_needs_may_be_missing():
    robot = inputs(steps=Steps(JOINTS), needs=JointNeeds(efforts=(0, 1)), robot=replace(setup(), imu=None))
    robot.push(JOINTS, joints(START, tau=(1.0, 2.0, np.nan, np.inf)), START)
    (sample,) = robot.ready()
    np.testing.assert_array_equal(sample.driver[robot.joints.columns.tau], [1.0, 2.0, np.nan, np.inf])
    robot.push(JOINTS, joints(START + MS, tau=(np.nan, 2.0, 3.0, 4.0)), START + MS)
    assert robot.ready() == []
    assert "effort of L_hip is nan" in robot.streams[JOINTS].drops.summary


def test_units_offsets_and_gains_are_applied():
    offsets = {"joint_offsets__joints": ("L_hip",), "joint_offsets__values": (0.1,)}
    gains = {"drive_gains__joints": ("L_knee",), "drive_gains__values": (2.0,)}
    config = parameters(joint_states__units=["deg", "deg/s", "mNm"], **offsets, **gains)
    robot = inputs(config, needs=JointNeeds(efforts=True))
    robot.push(JOINTS, joints(START, [10.0] * 4, [20.0] * 4, [3000.0] * 4), START)
    row, c = robot.streams[JOINTS].ring.rows[0], robot.joints.columns
    np.testing.assert_allclose(row[c.q], np.radians(10.0) + np.array([0.1, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(row[c.v], np.radians(20.0))
    np.testing.assert_allclose(row[c.tau], [3.0, 6.0, 3.0, 3.0])


@pytest.mark.parametrize(
    ("column", "largest", "what"),
    [
        (1, 0.5 + 1.0, "position of L_knee is 1.51 rad, limit 1.5"),
        (1, -2.0 - 1.0, "position of L_knee is -3.01 rad, limit -3"),
        (5, 3.0 * 20.0, "velocity of L_knee is 60.01 rad/s, limit 60"),
        (9, 4.0 * 40.0, "effort of L_knee is 160 Nm, limit 160"),
    ],
)
def test_ranges_are_those_of_the_description_with_a_margin(column, largest, what):
    robot = inputs(needs=JointNeeds(efforts=True))
    for k, beyond in enumerate((-0.01, 0.01)):
        row = np.zeros(12)
        row[column] = largest + beyond * np.sign(largest)
        robot.push(JOINTS, JointReading(START + k * MS, JOINTS_OF, *row.reshape(3, 4)), START + k * MS)
        assert robot.streams[JOINTS].drops.total == k
    assert what in robot.streams[JOINTS].drops.summary


@pytest.mark.parametrize("sent", ["none", "nan", "zeros", "one nan"])
@pytest.mark.parametrize("rate", [1000, 200])
def test_velocities_that_are_not_measured_are_derived(sent, rate):
    robot, worst = inputs(), 0.0
    for k in range(rate):
        stamp = START + round(1e9 * k / rate)
        q, v = at(k / rate)
        measured = {"none": None, "nan": v * np.nan, "zeros": 0.0 * v, "one nan": np.r_[v[:3], np.nan]}[sent]
        robot.push(JOINTS, JointReading(stamp, JOINTS_OF, q, measured), stamp)
        stored = robot.streams[JOINTS].ring
        if k > rate // 4:
            worst = max(worst, np.abs(stored.rows[stored.end - 1, 4:8] - v).max())
    assert worst < 0.02
    assert "derived from positions" in robot.joints.velocity_source


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("kind", ["continuous", "revolute"])
def test_angles_of_joints_without_stops_are_continuous(kind, counted):
    """Limits of a whole turn are those of software; encoders count turns, or from -pi to pi."""
    robot, begun_late, names = inputs(spin=kind), inputs(spin=kind), None
    for k in range(400):
        stamp, angle = START + 5 * MS * k, 0.02 * k
        names = robot.joints.stream.spec.name
        q = [0.0, 0.0, 0.0, 0.0, 40.0 + angle if counted else (angle + np.pi) % (2 * np.pi) - np.pi]
        reading = JointReading(stamp, (*JOINTS_OF, "spin"), np.array(q), np.array([0.0] * 4 + [4.0]))
        robot.push(IMU, imu(stamp + 2 * MS), stamp + 2 * MS)
        robot.push(JOINTS, reading, stamp)
        if k >= 155:  # two readings before half a turn
            begun_late.push(JOINTS, replace(reading, velocity=None), stamp)
    place = list(robot.joints.parts[0].names).index("spin")
    found = [s.rows[names][place] for s in robot.ready()]
    np.testing.assert_allclose(np.diff(found), 0.02, atol=1e-9)
    np.testing.assert_allclose(begun_late.streams[JOINTS].ring.newest(400)[1][:, 9], 4.0, atol=1e-6)


@pytest.mark.parametrize("lasting", [1, 4, 400])
def test_a_position_that_jumps_is_dropped_and_believed_where_it_stays(lasting):
    robot = inputs()
    for k in range(600):
        stamp, (q, v) = START + 5 * MS * k, at(0.005 * k)
        q = q + np.array([0.0, 0.8, 0.0, 0.0]) * (100 < k <= 100 + lasting)
        robot.push(JOINTS, JointReading(stamp, JOINTS_OF, q, v), stamp)
    drops = robot.streams[JOINTS].drops
    dropped = drops.counts[DropReason.CONTRADICTION]
    assert dropped <= 40 if lasting == 400 else dropped == lasting  # 0.1 s there, and back
    ring = robot.streams[JOINTS].ring
    np.testing.assert_allclose(ring.rows[ring.end - 1, :4], at(0.005 * 599)[0], atol=1e-6)
    said = said_of(robot, 3000)
    assert "position of L_knee is" in said
    assert "two publishers, or an encoder that slips?" in said


def test_a_velocity_is_exact_for_constant_acceleration_and_not_there_before_the_window_is_full():
    robot = inputs()
    for k in range(100):
        t = 0.001 * k
        robot.push(JOINTS, JointReading(START + k * MS, JOINTS_OF, np.full(4, t * t), None), START + k * MS)
    ring = robot.streams[JOINTS].ring
    assert 15 <= robot.streams[JOINTS].drops.counts[DropReason.NO_VELOCITY] <= 20
    np.testing.assert_allclose(
        ring.rows[ring.begin : ring.end, 4], 2e-9 * (ring.times[ring.begin : ring.end] - START)
    )
    robot.reset()
    robot.push(JOINTS, JointReading(START + 100 * MS, JOINTS_OF, np.zeros(4), None), START + 100 * MS)
    assert len(ring) == 0, "a window of positions again"


@given(
    st.integers(2, 24),
    st.integers(2, 24),
    st.integers(0, 7),
    st.sampled_from([(-0.8, True), (0.7, True), (1.5, True), (1.5, False)]),  # apart, velocities are sent
)
@settings(max_examples=20, deadline=None)
def test_of_two_publishers_on_one_topic_the_first_is_used_and_this_is_said(every, other, later, differ):
    (apart, sent), as_is = differ, parameters(inputs__stamps="as_is")
    robot, far = inputs(as_is, needs=JointNeeds(velocities=sent)), np.array([0.0, 0.0, apart, 0.0])
    times = [(every * k, 0.0) for k in range(600 // every)]
    times += [(other * k + later + 0.5, 1.0) for k in range(600 // other)]
    for t, whose in sorted(times):
        stamp, (q, v) = START + round(t * MS), at(1e-3 * t)
        robot.push(JOINTS, JointReading(stamp, JOINTS_OF, q + whose * far, v if sent else None), stamp)
    stored, drops = robot.streams[JOINTS].ring, robot.streams[JOINTS].drops
    used, times = stored.rows[: stored.end, 2], stored.times[: stored.end] - START
    np.testing.assert_allclose(used, [at(1e-9 * t)[0][2] for t in times], atol=1e-6)
    assert drops.counts[DropReason.CONTRADICTION] == 600 // other
    said = said_of(robot, 600)
    assert "position of R_hip is" in said
    assert "two publishers" in said


PUBLISHER = st.tuples(
    st.sampled_from([JOINTS_OF, LEFT, RIGHT, JOINTS_OF[:3], JOINTS_OF[1:]]),
    st.sampled_from([50, 100, 250]),  # rate [Hz]
    st.sampled_from([0.0, 0.003, 0.02]),  # lag [s]
    st.sampled_from([(0.0, 9.0, 9.0), (0.3, 9.0, 9.0), (0.0, 0.4, 9.0), (0.0, 0.3, 0.7)]),  # begin, end, back
)


@given(st.lists(PUBLISHER, min_size=1, max_size=4), st.sampled_from([None, (0, 1), (2,)]))
@example([(RIGHT, 250, 0.0, (0.0, 9.0, 9.0)), (JOINTS_OF, 100, 0.02, (0.3, 9.0, 9.0))], (2,))
@example(
    [(JOINTS_OF, 250, 0.0, (0.0, 0.4, 9.0)), (JOINTS_OF, 250, 0.003, (0.0, 9.0, 9.0))], None
)  # takes over
@settings(max_examples=25, deadline=None)
def test_joint_states_that_begin_end_and_overlap_make_right_rows_in_order(publishers, needed):
    robot, events = inputs(needs=JointNeeds(joints=needed)), [(0.005 * k, None, 0.0) for k in range(280)]
    for number, (_names, rate, lag, (begin, end, again)) in enumerate(publishers):
        times = [k / rate for k in range(int(1.4 * rate))]
        events += [(t + lag, number, t) for t in times if begin <= t < end or t >= again]
    ring, samples = robot.joints.stream.ring, []
    for arrival, number, t in sorted(events, key=lambda event: event[0]):
        at_ns, stamp = START + round(1e9 * arrival), START + round(1e9 * t)
        if number is None:
            robot.push(IMU, imu(at_ns), at_ns)
        else:
            names = publishers[number][0]
            q, v = at(t)[:, [JOINTS_OF.index(name) for name in names]]
            robot.push(JOINTS, JointReading(stamp, names, q, v), at_ns, "", f"driver {number}")
        samples += robot.ready()
    assert (np.diff(ring.times[ring.begin : ring.end]) > 0).all()
    wanted, lasting = list(range(4) if needed is None else needed), set()
    for names, _rate, _lag, (_begin, end, again) in publishers:
        lasting |= {JOINTS_OF.index(name) for name in names} if end > 2.0 or again < 1.0 else set()
    last = [sample for sample in samples if sample.time_ns > START + 1000 * MS]
    assert last
    if lasting.issuperset(wanted):
        assert not any(sample.missing for sample in last)
    for sample in last if not last[-1].missing else ():
        true = at(1e-9 * (sample.time_ns - START))[0]
        np.testing.assert_allclose(sample.rows[JOINTS][wanted], true[wanted], atol=2e-3)


def test_joints_go_on_after_the_clock_of_their_part_has_been_ahead():
    robot = inputs(needs=JointNeeds(joints=(0, 1)))
    for k in range(500):
        stamp = START + 5 * MS * k
        robot.push(IMU, imu(stamp), stamp)
        robot.push(JOINTS, joints(stamp, names=RIGHT), stamp, "", "right")
        ahead = 2000 * MS if k > 100 else 0
        robot.push(JOINTS, joints(stamp + ahead, names=LEFT), stamp, "", "left")
    missing = [sample for sample in robot.ready() if sample.missing]
    assert len(missing) < 80, "0.3 s"
