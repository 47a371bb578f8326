"""A small arm with and without geometry, and its identification."""

from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.parameters import build_config
from support.urdf import joint_xml, link_xml, robot_xml

LENGTH = 0.3


def arm_urdf(*, shapes: bool = False, reach: float = 2.8, speed: float = 2.0, effort: float = 50.0) -> str:
    """Three joints about z, y, y: the last link can fold back onto the first."""
    middle, names = f"0 0 {LENGTH / 2}", ("base", "link1", "link2", "link3")
    box = f'<geometry><box size="0.06 0.06 {LENGTH - 0.08}"/></geometry>'
    shape = f'<collision><origin xyz="{middle}"/>{box}</collision>' if shapes else ""
    inertia = {"moments": (0.05, 0.04, 0.02), "products": (0.001, 0.002, -0.001)}
    links = [link_xml(name, 2, f"0.05 0.01 {LENGTH / 2}", **inertia, more=shape) for name in names[1:]]
    joints = [
        joint_xml(f"joint{i}", *names[i - 1 : i + 1], axis, f"0 0 {z}", limit=(-reach, reach, effort, speed))
        for i, axis, z in ((1, "0 0 1", 0), (2, "0 1 0", LENGTH), (3, "0 1 0", LENGTH))
    ]
    return robot_xml(link_xml("base"), *links, *joints, name="arm")


def arm_identification(**values: object) -> IdentificationConfig:
    friction = {"friction.joints": ("*",), "friction.terms": ("viscous", "coulomb")}
    arm = {"floating_base": False, "contact_wrenches": "none"}
    return build_config(IdentificationConfig, {**arm, **friction, **values})
