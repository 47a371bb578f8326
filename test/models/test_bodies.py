"""Bodies: centre of mass with estimated inertias, and mirror images."""

import numpy as np
import pinocchio as pin
import pytest
from support.leg_robot import MODEL, NAMES, URDF

from inertial_estimation.errors import ConfigurationError
from inertial_estimation.models.bodies import BodyPlacements, mirror_image
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.signals import LinkInertia

ROBOT = RobotModel.from_urdf(URDF)
Q = np.random.default_rng(3).uniform(-1.0, 1.0, len(NAMES))


def test_nominal_centre_is_pinocchios() -> None:
    bodies = BodyPlacements(ROBOT)
    bodies.update(Q)
    expected = pin.centerOfMass(MODEL, MODEL.createData(), ROBOT.configuration(Q))
    np.testing.assert_allclose(bodies.com_B(), expected, atol=1e-12)


def test_a_heavier_link_pulls_the_centre_towards_itself() -> None:
    bodies = BodyPlacements(ROBOT)
    bodies.update(Q)
    data = MODEL.createData()
    pin.framesForwardKinematics(MODEL, data, ROBOT.configuration(Q))
    com_L = np.array([0.1, 0.2, 0.3])
    loaded = bodies.com_B([LinkInertia("arm", 1e9, com_L, np.eye(3))])
    np.testing.assert_allclose(loaded, data.oMf[MODEL.getFrameId("arm")].act(com_L), atol=1e-5)


S = np.diag([1.0, -1.0, 1.0])


def cloud_parameters(masses, points):
    """Parameters of point masses about the origin."""
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    moments = [inertia[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.array([masses.sum(), *(masses @ points), *moments])


@pytest.mark.parametrize("left", ["arm_left_2_link", "arm_left_7_link", "leg_left_4_link", "leg_left_6_link"])
def test_the_map_mirrors_a_cloud_of_points_in_a_mirrored_posture(talos, left):
    right = left.replace("left", "right")
    image = mirror_image(talos, left, right)
    rng = np.random.default_rng(0)
    q = np.zeros(talos.n_joints)
    for j, name in enumerate(talos.joint_names):
        if "left" in name:
            other = talos.joint_index(name.replace("left", "right"))
            partner = name.replace("_joint", "_link")
            sign = 1.0
            if partner in talos.link_names:
                sign = mirror_image(talos, partner, partner.replace("left", "right")).joint_sign
            q[j] = rng.uniform(-0.5, 0.5)
            q[other] = sign * q[j]
    model, data = talos.model, talos.model.createData()
    pin.framesForwardKinematics(model, data, talos.configuration(q))
    T_l, T_r = (data.oMf[talos.frame_id(link)] for link in (left, right))
    masses, points_l = rng.uniform(0.1, 1.0, 12), rng.normal(size=(12, 3))
    points_r = np.array([T_r.actInv(S @ T_l.act(p)) for p in points_l])
    expected = cloud_parameters(masses, points_r)
    found = image.parameters @ cloud_parameters(masses, points_l)
    assert found == pytest.approx(expected, abs=5e-3 * np.abs(expected).max())


@pytest.mark.parametrize("right", ["leg_right_1_link", "arm_right_4_link"])
def test_other_links_are_no_mirror_images(talos, right):
    with pytest.raises(ConfigurationError, match=f"'arm_left_3_link' and '{right}' are no mirror images"):
        mirror_image(talos, "arm_left_3_link", right)
