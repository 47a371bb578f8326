"""The code of docs/into_your_stack.md does what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio")

from geometry_msgs.msg import InertiaStamped
from support.urdf import joint_xml, link_xml, robot_xml

from inertial_estimation.inputs.messages import inertia_to_msg
from inertial_estimation.signals import LinkInertia, StampedInertia

PAGE = Path(__file__).resolve().parents[2] / "docs" / "into_your_stack.md"
TENSOR = {"moments": (0.02, 0.03, 0.025), "products": (0.003, -0.002, 0.001), "rpy": "0.1 0.2 0.3"}
URDF = robot_xml(
    link_xml("base"),
    link_xml("forearm", 2, "0.2 0.01 -0.03", **TENSOR),
    joint_xml("elbow", "base", "forearm"),
    link_xml("hand", 0.5, "0 0.05 0", 3 * [0.001]),
    joint_xml("mount", "forearm", "hand", xyz="0.4 0 0.1", rpy="0 0 1.5707963267948966", kind="fixed"),
)


def snippet(marker):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if marker in block]
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


@pytest.fixture
def model():
    return pin.buildModelFromXML(URDF)


@pytest.mark.parametrize("link", ["forearm", "hand"])
def test_the_nominal_inertia_of_a_body_leaves_the_model_as_it_was(model, link):
    frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
    nominal = model.inertias[frame.parentJoint].copy()
    in_link = frame.placement.actInv(nominal)
    inertia = LinkInertia(link, in_link.mass, in_link.lever, in_link.inertia)
    msg = inertia_to_msg(StampedInertia(0, inertia), InertiaStamped())
    model.inertias[frame.parentJoint] = pin.Inertia.Zero()
    snippet("def take_inertia")["take_inertia"](model, msg)
    assert model.inertias[frame.parentJoint].isApprox(nominal, 1e-12)


def test_a_controller_of_the_page_takes_what_is_published(world, model):
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    rclpy.init(args=[], domain_id=world.domain)
    executor = SingleThreadedExecutor()
    try:
        controller = snippet("def take_inertia")["Controller"](model, ["hand"])
        executor.add_node(controller)
        publisher = world.node.create_publisher(InertiaStamped, "link_inertias/hand", 10)
        inertia = LinkInertia("hand", 3.0, np.zeros(3), 0.01 * np.eye(3))
        msg = inertia_to_msg(StampedInertia(0, inertia), InertiaStamped())

        def taken():
            publisher.publish(msg)
            executor.spin_once(timeout_sec=0.01)
            return model.inertias[1].mass == 3.0

        assert world.run(taken, sensors=False)
    finally:
        executor.shutdown()
        rclpy.shutdown()
