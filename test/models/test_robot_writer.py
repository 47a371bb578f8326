"""Robots for simulators have the inertias that were drawn, and the kinematics of their description."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.errors import ModelError
from inertial_estimation.models.bodies import BodyReference
from inertial_estimation.models.estimated_model import EstimatedLoad, EstimatedModel, LogCholeskyPosterior
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.models.robot_writer import RobotWriter
from inertial_estimation.spatial.inertial_parameters import InertialParameters
from inertial_estimation.spatial.log_cholesky import log_cholesky_from_parameters

BOX = '<collision><origin xyz="0 0 -0.1"/><geometry><box size="0.1 0.1 0.3"/></geometry></collision>'
RUBBING = '<dynamics damping="0.5" friction="0.2"/>'
URDF = robot_xml(
    link_xml("root"),
    link_xml("trunk", 9, "0.1 0 0.02", (0.2, 0.3, 0.25), products=(0.01, 0, 0), rpy="0.3 0 0.2"),
    joint_xml("on", "root", "trunk", xyz="0 0.1 0.2", rpy="0.1 0.2 0.3", kind="fixed"),
    link_xml("leg", 2, "0 0 -0.2", (0.02, 0.02, 0.004), products=(0, 0.001, 0), more=BOX),
    joint_xml("hip", "trunk", "leg", xyz="0.3 0.1 0", rpy="0 0.4 0", limit=(-2, 1, 50, 10)),
    link_xml("pad", 0.3, "0.01 0 0", (2e-4, 2e-4, 3e-4)),
    joint_xml("glue", "leg", "pad", xyz="0 0 -0.4", rpy="0.5 0 0.7", kind="fixed"),
    link_xml("sole"),
    joint_xml("sole_joint", "pad", "sole", xyz="0 0 -0.02", kind="fixed"),
    link_xml("slider", 0.5, "0 0 0", (1e-3, 1e-3, 1e-3)),
    joint_xml("rail", "sole", "slider", "1 0 0", "0 0.05 0", kind="prismatic", limit=(-0.1, 0.1, 20, 1)),
    name="walker",
).replace('effort="50" velocity="10"/>', f'effort="50" velocity="10"/>{RUBBING}')
LINKS = ("trunk", "leg")
LOAD = EstimatedLoad("slider", "slider_payload")


def walker(load=None, sigma=0.1):
    """The walker, estimated as described, with independent coordinates; the load weighs 1 kg."""
    robot = RobotModel.from_urdf(URDF, floating_base=True)
    bodies = [BodyReference.of_link(robot, link) for link in LINKS]
    coordinates = [log_cholesky_from_parameters(body.nominal_C) for body in bodies]
    to_link, estimate = [body.to_link for body in bodies], [body.to_link @ body.nominal_C for body in bodies]
    if load:
        cube = InertialParameters(1.0, np.array([0.1, 0.0, 0.0]), 0.01 * np.eye(3)).vector
        coordinates.append(log_cholesky_from_parameters(cube))
        to_link.append(np.eye(10))
        estimate.append(cube)
    covariance = sigma**2 * np.eye(10 * len(estimate))
    posterior = LogCholeskyPosterior(np.array(coordinates), covariance, np.array(to_link), "rucker")
    return EstimatedModel(URDF, True, (), LINKS, np.array(estimate), posterior, load=load)


def mjcf(urdf=URDF, *, fused=False):
    """A model of the walker by MuJoCo, which needs a mass of a root that moves."""
    root = '<link name="root"><inertial><mass value="0.001"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" '
    whole = urdf.replace('<link name="root"/>', root + 'ixy="0" ixz="0" iyz="0"/></inertial></link>')
    compiler = f'<mujoco><compiler fusestatic="{str(fused).lower()}" inertiafromgeom="false"/></mujoco>'
    spec = mujoco.MjSpec.from_string(whole.replace("</robot>", compiler + "</robot>"))
    spec.worldbody.first_body().add_freejoint()
    spec.compile()
    return spec.to_xml()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mine.xml"
    path.write_text(mjcf())
    return path


def in_mujoco(model, name):
    """The inertia of a body and of all that MuJoCo has fixed to it, about the body's frame."""
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, model.body_iquat[body])
    axes = R.reshape(3, 3)
    inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
    return InertialParameters(model.body_mass[body], model.body_ipos[body].copy(), inertia)


def assert_same_body(found, parameters):
    expected = InertialParameters.from_vector(parameters)
    assert found.mass == pytest.approx(expected.mass, rel=1e-10)
    np.testing.assert_allclose(found.com_F, expected.com_F, atol=1e-10)
    np.testing.assert_allclose(found.inertia_Fcm, expected.inertia_Fcm, atol=1e-9)


@pytest.mark.parametrize("load", [None, LOAD])
def test_mujoco_loads_every_sample_and_its_inertias_are_those_drawn(load, path):
    model = walker(load)
    if load:
        path.write_text(mjcf(model.estimated_urdf()))
    writer = RobotWriter(model, path)
    drawn = model.samples(5, np.random.default_rng(0))
    assert np.ptp(drawn[:, 0, 0]) > 0.5, "the samples differ"
    for parameters in drawn:
        loaded = mujoco.MjModel.from_xml_string(writer.text(parameters))
        assert_same_body(in_mujoco(loaded, "trunk"), parameters[0])
        leg = in_mujoco(loaded, "leg").mass + in_mujoco(loaded, "pad").mass
        assert leg == pytest.approx(parameters[1, 0], rel=1e-10)
        if load:
            assert in_mujoco(loaded, load.name).mass == pytest.approx(parameters[2, 0], rel=1e-10)
    assert not writer.warnings


def test_the_mass_matrix_in_mujoco_is_that_of_the_drawn_description(path):
    """By Pinocchio, on the URDF: all that a body carries is in it, in the right place."""
    model = walker()
    parameters = model.samples(1, np.random.default_rng(2))[0]
    loaded = mujoco.MjModel.from_xml_string(RobotWriter(model, path).text(parameters))
    data, q = mujoco.MjData(loaded), np.array([0.7, -0.05])
    data.qpos[7:] = q
    mujoco.mj_forward(loaded, data)
    M = np.zeros((loaded.nv, loaded.nv))
    mujoco.mj_fullM(loaded, M, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(loaded, data, M)
    robot = pin.buildModelFromXML(model.urdf_with(parameters), pin.JointModelFreeFlyer())
    expected = pin.crba(robot, robot.createData(), np.concatenate(([0, 0, 0, 0, 0, 0, 1.0], q)))
    np.testing.assert_allclose(
        M[6:, 6:], np.triu(expected)[6:, 6:] + np.triu(expected, 1)[6:, 6:].T, rtol=1e-6
    )


def test_inertias_are_written_into_a_model_of_the_users(path):
    """MuJoCo fuses fixed links: the pad is part of the leg there, and the trunk of the root."""
    model = walker()
    path.write_text(mjcf(fused=True))
    assert "pad" not in path.read_text()
    parameters = model.samples(1, np.random.default_rng(4))[0]
    loaded = mujoco.MjModel.from_xml_string(RobotWriter(model, path).text(parameters))
    assert_same_body(in_mujoco(loaded, "leg"), parameters[1])


def test_a_model_of_another_robot_is_warned_of_or_refused(path):
    model = walker()
    path.write_text(mjcf(URDF.replace('value="9"', 'value="12"')))
    (warning,) = RobotWriter(model, path).warnings
    assert "'trunk' weighs 12 kg" in warning
    path.write_text("<mujoco><worldbody><body name='trunk'/></worldbody></mujoco>")
    with pytest.raises(ModelError, match="no body for leg, pad"):
        RobotWriter(model, path)
    path.write_text("<sdf/>")
    with pytest.raises(ModelError, match="expected <mujoco>"):
        RobotWriter(model, path)
