"""Distances between links against the geometry itself."""

import numpy as np
import pytest
from support.design_scenes import LENGTH, arm_urdf

from inertial_estimation.models.link_shapes import SelfCollision
from inertial_estimation.models.robot_model import RobotModel

HALF = 0.03  # half the width of the boxes


def checker(urdf: str, margin: float = 0.0) -> SelfCollision:
    robot = RobotModel.from_urdf(urdf, floating_base=False)
    return SelfCollision.from_urdf(robot, urdf, [], np.random.default_rng(0), margin)


@pytest.mark.parametrize("sideways", [0.5, 1.2, 2.0])
def test_clearance_of_a_bent_arm(sideways: float) -> None:
    """Folding the second joint by pi/2 and the third by another: links 1 and 3 are parallel, LENGTH apart."""
    collision = checker(arm_urdf(shapes=True))
    parallel = np.array([sideways, np.pi / 2, np.pi / 2])
    assert collision.clearance(parallel) == pytest.approx(LENGTH - 2 * HALF, abs=1e-6)


def test_a_folded_arm_collides_and_says_with_what() -> None:
    collision = checker(arm_urdf(shapes=True))
    folded = np.array([0.3, 2.7, 2.7])
    assert collision.clearance(folded) < 0.0
    assert collision.closer_than(folded, 0.0)
    assert collision.closest_pair(folded) == ("link1", "link3")


def test_closer_than_agrees_with_the_distance() -> None:
    collision, rng = checker(arm_urdf(shapes=True)), np.random.default_rng(1)
    postures = rng.uniform(-2.8, 2.8, size=(300, 3))
    near = np.array([collision.clearance(q) for q in postures]) < 0.1
    assert 5 < near.sum() < 295
    assert [collision.closer_than(q, 0.1) for q in postures] == near.tolist()


def test_pairs_that_are_always_near_are_left_out_and_named() -> None:
    collision = checker(arm_urdf(shapes=True), margin=1.0)
    assert not collision.checks
    assert collision.always_touching == (("link1", "link3"),)


def test_without_geometry_it_says_so_and_nothing_is_near() -> None:
    collision = checker(arm_urdf())
    assert "not checked" in collision.note
    assert collision.clearance(np.zeros(3)) == np.inf
    assert not collision.closer_than(np.zeros(3), 1.0)


def test_hulls_of_panda_agree_with_its_meshes_on_what_is_free() -> None:
    """A posture free by the hulls is free by the meshes, which the hulls contain."""
    pytest.importorskip("example_robot_data")
    import pinocchio as pin

    from inertial_estimation.configuration.urdf_source import mesh_folders, read_urdf

    urdf = read_urdf("example-robot-data:panda")
    robot = RobotModel.from_urdf(urdf, floating_base=False)
    collision = SelfCollision.from_urdf(robot, urdf, mesh_folders(), np.random.default_rng(0))
    folders = [str(folder) for folder in mesh_folders()]
    meshes = pin.buildGeomFromUrdfString(robot.model, urdf, pin.GeometryType.COLLISION, None, folders)
    links = [robot.model.frames[shape.parentFrame].name for shape in meshes.geometryObjects]
    for pair in set(collision.pairs):
        meshes.addCollisionPair(pin.CollisionPair(links.index(pair[0]), links.index(pair[1])))
    data, shapes = robot.model.createData(), meshes.createData()
    rng, model, free = np.random.default_rng(2), robot.model, 0
    for _ in range(100):
        q = rng.uniform(model.lowerPositionLimit, model.upperPositionLimit)
        if not collision.closer_than(q, 0.0):
            free += 1
            assert not pin.computeCollisions(model, data, meshes, shapes, q, True)
    assert free > 50
