"""Layouts of rows: the columns of a row partition it, and a row holds what its layout says."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from inertial_estimation.configuration.config_file import load_config_file
from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.pipelines import build_pipelines
from inertial_estimation.estimators.inputs.rows import (
    BASE_STATE_ROW,
    IMU,
    IMU_ROW,
    JointRow,
    base_state_row,
)
from inertial_estimation.signals import BaseState, ImuSample


@pytest.mark.parametrize("effort", [False, True])
@pytest.mark.parametrize("sign", [False, True])
def test_columns_of_a_joint_row_partition_it(effort, sign):
    columns = JointRow(3, effort=effort, sign=sign)
    parts = [columns.q, columns.v, columns.tau, columns.coulomb_sign]
    assert (columns.tau is not None, columns.coulomb_sign is not None) == (effort, sign)
    indices = np.concatenate([np.arange(columns.width)[part] for part in parts if part is not None])
    np.testing.assert_array_equal(indices, np.arange(columns.width))


def test_a_row_of_the_imu_holds_force_and_rate():
    pipeline = build_pipelines(load_config_file(find_config("talos"))).tilt
    pipeline.push_imu(ImuSample(10, np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])))
    row = pipeline._stepper.aligner.latest(IMU, 10, 0.0)
    assert len(row) == IMU_ROW.width
    np.testing.assert_array_equal(row[IMU_ROW.f], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(row[IMU_ROW.w], [4.0, 5.0, 6.0])


def test_a_row_of_the_base_state_holds_the_twist_and_the_vertical():
    R_WB = Rotation.from_euler("xyz", [0.2, -0.4, 1.0])
    state = BaseState(0, 3.0 * R_WB.as_quat(), np.zeros(3), np.arange(3.0), np.arange(3.0, 6.0))
    row = base_state_row(state)
    assert len(row) == BASE_STATE_ROW.width
    np.testing.assert_array_equal(row[BASE_STATE_ROW.twist], np.arange(6.0))
    np.testing.assert_allclose(row[BASE_STATE_ROW.vertical], R_WB.inv().apply([0.0, 0.0, 1.0]), atol=1e-12)


@pytest.mark.parametrize("quaternion", [np.zeros(4), np.full(4, np.nan)])
def test_a_base_state_without_orientation_is_no_number(quaternion):
    state = BaseState(0, quaternion, *np.zeros((3, 3)))
    assert np.isnan(base_state_row(state)).all()
