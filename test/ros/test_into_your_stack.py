"""The code of docs/into_your_stack.md does what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio", reason="needs Pinocchio")

from geometry_msgs.msg import InertiaStamped

from inertial_estimation.inputs.messages import inertia_to_msg
from inertial_estimation.signals import LinkInertia, StampedInertia

PAGE = Path(__file__).resolve().parents[2] / "docs" / "into_your_stack.md"
URDF = """<robot name="arm">
  <link name="base"/>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="5"/></joint>
  <link name="forearm"><inertial><mass value="2"/><origin xyz="0.2 0.01 -0.03" rpy="0.1 0.2 0.3"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.003" ixz="-0.002" iyz="0.001"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="forearm"/><child link="hand"/>
    <origin xyz="0.4 0 0.1" rpy="0 0 1.5707963267948966"/></joint>
  <link name="hand"><inertial><mass value="0.5"/><origin xyz="0 0.05 0"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""


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
