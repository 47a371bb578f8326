"""Strays between the readings of one clock change nothing of what continues from stamp to stamp."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from inertial_estimation.estimators.inertial.joint_rows import InertialJointRows
from support.leg_robot import NAMES, URDF

from inertial_estimation.errors import MeasurementError
from inertial_estimation.estimators.inertial.inertial_config import InertialPipelineConfig
from inertial_estimation.models.clock_branches import ClockBranches
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.parameters import build_config
from inertial_estimation.signals import JointReading

MS = 1_000_000
START = 10**12
STRAYS_NS = (-(10**12), -2_000 * MS, 300 * MS, 5_000 * MS, 10**15)
ROBOT = RobotModel.from_urdf(URDF)
VALUES = {
    "nominal_friction.joints": (NAMES[0],),
    "nominal_friction.coulomb": (1.0,),
    "nominal_friction.presliding": 0.01,
    "torque_rows": (),
}


def rows_of(**values):
    return InertialJointRows(build_config(InertialPipelineConfig, {**VALUES, **values}), ROBOT)


def reading(k, *, stray_ns=0, sent=False):
    q = 0.1 * np.sin(0.02 * k + np.arange(ROBOT.n_joints))
    velocity = np.cos(0.02 * k + np.arange(ROBOT.n_joints)) if sent else None
    return JointReading(START + 4 * MS * k + stray_ns, NAMES, q, velocity)


@given(
    strays=st.lists(
        st.tuples(st.integers(20, 60), st.sampled_from(STRAYS_NS)),
        max_size=6,
    ),
    sent=st.booleans(),
)
def test_strays_leave_derived_velocities_and_signs_of_friction_as_they_are(strays, sent):
    clean, strewn = rows_of(), rows_of()
    assert clean.columns.sign
    for k in range(70):
        for after, stray_ns in strays:
            if after == k:
                attempt(strewn, reading(k, stray_ns=stray_ns, sent=sent))
        one, other = attempt(clean, reading(k, sent=sent)), attempt(strewn, reading(k, sent=sent))
        np.testing.assert_array_equal(one, other)
    assert np.isfinite(one).all()


def attempt(rows, given_reading):
    try:
        return rows.row(given_reading)
    except MeasurementError:
        return np.empty(0)


class Memory:
    """Counts the stamps since it began."""

    def __init__(self):
        self.count = 0

    def reset(self):
        self.count = 0


def test_two_publishers_on_two_clocks_have_a_state_each():
    branches = ClockBranches(Memory, Memory.reset)
    for k in range(50):
        for clock_ns in (0, 10**12):
            assert branches.step_to(clock_ns + k * MS, 100 * MS) == (MS if k else 0)
            branches.current.count += 1
            assert branches.current.count == k + 1


def test_after_a_jump_the_state_begins_anew_and_late_stamps_are_refused():
    branches = ClockBranches(Memory, Memory.reset)
    for stamp_ns, expected in ((5, 0), (6, 1), (6, None), (3, None), (1000, 0), (1001, 1), (500, 0)):
        assert branches.step_to(stamp_ns, 100) == expected
