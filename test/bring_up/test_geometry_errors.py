"""A tilted mounting, a turned IMU, a joint's offset and a constant effort are named, with their size."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from inertial_estimation.bring_up.case import Case
from inertial_estimation.bring_up.fix_file import fixed_parameters
from inertial_estimation.bring_up.force_rows import GeometryColumns
from inertial_estimation.data_checks.data_table import WindowPredictor
from inertial_estimation.data_checks.data_window import DataWindow
from inertial_estimation.models.geometry_slopes import GravityTorques
from inertial_estimation.models.robot_config import RobotConfig, robot_from_config
from inertial_estimation.parameters import build_config, parameter_values
from inertial_estimation.spatial.rotations import exp_so3, rotation_from_roll_pitch_yaw
from inertial_estimation.spatial.vectors import DEGREES

GRAVITY = np.array([0.0, 0.0, -9.81])


def plus(column, constant):
    def inject(streams):
        values = streams.joints.values.copy()
        values[:, column] += constant
        return streams.with_joints(values)

    return inject


def mounted(robot, rotation):
    """Add the torques of a base that is turned against its description."""

    def inject(streams):
        columns, values, n = GravityTorques(robot), streams.joints.values.copy(), streams.n_joints
        change = rotation.T @ GRAVITY - GRAVITY
        torques = np.array([columns.at(q) @ change for q in values[:, :n]])
        values[:, 2 * n :] += torques
        return streams.with_joints(values)

    return inject


def only_failure(recording, streams):
    (result,) = [r for r in recording.diagnosis(streams).results if r.failed]
    return result


@pytest.mark.parametrize("tilt", [np.radians(8.0), 0.5 * np.pi, np.pi])
def test_a_tilted_mounting_is_named_and_nothing_else(panda, tilt):
    robot = robot_from_config(panda.config, panda.urdf).robot
    turned = mounted(robot, rotation_from_roll_pitch_yaw(0.0, tilt, 0.0))(panda.streams)
    result = only_failure(panda, turned)
    assert (result.check, result.subject, result.unit) == ("base mounting", "description", "deg")
    assert result.value == pytest.approx(tilt * DEGREES, abs=1.0)


def test_columns_of_gravity_are_the_torques_at_rest(panda):
    robot = robot_from_config(panda.config, panda.urdf).robot
    q = np.array([0.3, -0.6, 0.2, -1.8, 0.4, 1.1, -0.7])
    at_rest = pin.rnea(robot.model, robot.model.createData(), q, np.zeros(7), np.zeros(7))
    np.testing.assert_allclose(GravityTorques(robot).at(q) @ GRAVITY, at_rest, atol=1e-12)


@pytest.mark.parametrize(("joint", "degrees"), [("panda_joint4", 6.0), ("panda_joint2", -4.0)])
def test_an_offset_of_a_joint_is_named_with_its_size(panda, joint, degrees):
    j = robot_from_config(panda.config, panda.urdf).robot.joint_index(joint)
    result = only_failure(panda, plus(j, -degrees / DEGREES)(panda.streams))
    assert (result.check, result.subject, result.unit) == ("joint offset", joint, "deg")
    assert result.value == pytest.approx(degrees, abs=0.6)


def test_an_offset_of_a_leg_is_named_with_its_size(talos):
    joint = "leg_left_4_joint"
    j = robot_from_config(talos.config, talos.urdf).robot.joint_index(joint)
    result = only_failure(talos, plus(j, -5.0 / DEGREES)(talos.streams))
    assert (result.check, result.subject) == ("joint offset", joint)
    assert result.value == pytest.approx(5.0, abs=0.6)


@pytest.mark.parametrize(
    ("axis", "degrees"),
    [([0.0, 1.0, 0.0], 5.0), ([0.6, 0.0, 0.8], 10.0), ([0.0, 0.0, 1.0], 9.0)],
)
def test_an_imu_that_is_slightly_turned_is_named_with_its_angle(talos, axis, degrees):
    R = exp_so3(degrees / DEGREES * np.array(axis))
    result = only_failure(talos, talos.streams.turned_imu(R, R))
    assert (result.check, result.subject) == ("IMU mounting", "imu/data")
    assert result.value == pytest.approx(degrees, abs=1.0)


def test_the_fix_of_an_offset_makes_the_check_silent(panda):
    j = robot_from_config(panda.config, panda.urdf).robot.joint_index("panda_joint4")
    streams = plus(j, -6.0 / DEGREES)(panda.streams)
    values = fixed_parameters(panda.diagnosis(streams).findings, panda.config)
    assert values["joint_offsets.joints"] == ["panda_joint4"]
    corrected = plus(j, values["joint_offsets.values"][0])(streams)  # as the readings are by that parameter
    assert panda.failed(corrected) == []


def test_the_fix_of_a_slightly_turned_imu_makes_the_check_silent(talos):
    R = exp_so3(6.0 / DEGREES * np.array([1.0, 0.0, 0.0]))
    streams = talos.streams.turned_imu(R, R)
    values = fixed_parameters(talos.diagnosis(streams).findings, talos.config)
    fixed = build_config(RobotConfig, {**parameter_values(talos.config), **values})
    assert talos.failed(streams) != []
    assert talos.failed(streams, config=fixed) == []


@pytest.mark.parametrize(("joint", "constant"), [("panda_joint3", 6.0), ("panda_joint6", -1.2)])
def test_a_constant_of_an_effort_is_named_with_its_size(panda, joint, constant):
    j = robot_from_config(panda.config, panda.urdf).robot.joint_index(joint)
    result = only_failure(panda, plus(14 + j, constant)(panda.streams))
    assert (result.check, result.subject, result.unit) == ("effort zero", joint, "Nm")
    assert result.value == pytest.approx(constant, abs=0.25 * abs(constant))


@pytest.mark.parametrize("robot", ["panda", "talos"])
def test_columns_are_the_slopes_of_the_predicted_torques(robot, request):
    recording = request.getfixturevalue(robot)
    setup = robot_from_config(recording.config, recording.urdf)
    signals = Case(recording.streams, setup, recording.config).signals
    table, i, step = signals.windows, 30, 1e-5
    wrenches = np.nan_to_num(table.wrenches[i])
    window = DataWindow(
        stamp_ns=0,
        q=table.q[i],
        dq=table.dq[i],
        ddq=signals.ddq[i],
        v=table.v[i],
        tau=table.tau[i],
        f_I=table.f_I[i],
        w_I=table.w_I[i],
        wd_I=signals.wd_I[i],
        wrenches=table.wrenches[i],
    )
    predictor = WindowPredictor(setup)

    def needed(changed):
        state = predictor.predicted(changed).state
        return state.force - np.einsum("kiv,ki->v", state.jacobians, wrenches)

    def turned(angle, axis):
        R = exp_so3(angle * axis)
        return replace(window, f_I=R @ window.f_I, w_I=R @ window.w_I, wd_I=R @ window.wd_I)

    changes = []
    if setup.robot.floating_base:
        changes += [(turned(step, axis), turned(-step, axis)) for axis in np.eye(3)]
    changes += [
        (replace(window, q=window.q + step * d), replace(window, q=window.q - step * d))
        for d in np.eye(len(window.q))[setup.robot.turning_joints]
    ]
    expected = np.stack(
        [(needed(after) - needed(before)) / (2.0 * step) for after, before in changes], axis=1
    )
    found = GeometryColumns(signals, setup, measured_wrenches=bool(wrenches.size)).at(i)
    np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())
