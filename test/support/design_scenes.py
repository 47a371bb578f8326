"""A small arm with and without geometry, and its identification."""

from inertial_estimation.identification.identification_config import IdentificationConfig
from inertial_estimation.parameters import build_config

LINK = """<link name="{name}"><inertial><origin xyz="0.05 0.01 {middle}"/><mass value="2"/>
<inertia ixx="0.05" iyy="0.04" izz="0.02" ixy="0.001" ixz="0.002" iyz="-0.001"/></inertial>{shape}</link>"""
SHAPE = """<collision><origin xyz="0 0 {middle}"/>
<geometry><box size="0.06 0.06 {length}"/></geometry></collision>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0 0 {offset}"/><axis xyz="{axis}"/>{limit}</joint>"""
LIMIT = '<limit effort="{effort}" velocity="{speed}" lower="-{reach}" upper="{reach}"/>'
LENGTH = 0.3


def arm_urdf(*, shapes: bool = False, reach: float = 2.8, speed: float = 2.0, effort: float = 50.0) -> str:
    """Three joints about z, y, y: the last link can fold back onto the first."""
    shape = SHAPE.format(middle=LENGTH / 2, length=LENGTH - 0.08) if shapes else ""
    parts = ['<robot name="arm">', '<link name="base"/>']
    parts += [LINK.format(name=f"link{i}", middle=LENGTH / 2, shape=shape) for i in (1, 2, 3)]
    limit = LIMIT.format(speed=speed, reach=reach, effort=effort)
    chain = [
        ("base", "link1", 0.0, "0 0 1"),
        ("link1", "link2", LENGTH, "0 1 0"),
        ("link2", "link3", LENGTH, "0 1 0"),
    ]
    parts += [
        JOINT.format(
            name=f"joint{i}",
            kind="revolute",
            parent=parent,
            child=child,
            offset=offset,
            axis=axis,
            limit=limit,
        )
        for i, (parent, child, offset, axis) in enumerate(chain, start=1)
    ]
    return "".join([*parts, "</robot>"])


def arm_identification(**values: object) -> IdentificationConfig:
    return build_config(
        IdentificationConfig,
        {
            "floating_base": False,
            "contact_wrenches": "none",
            "friction.joints": ("*",),
            "friction.terms": ("viscous", "coulomb"),
            **values,
        },
    )
