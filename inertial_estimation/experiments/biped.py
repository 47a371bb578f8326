"""The simple biped of Benallegue et al. (V-A) as URDF text: twelve joints, 42.6 kg, rectangular feet.

The paper gives joints and weight only; shape and shares of the mass are those of a person of that weight, cut
to boxes: trunk with head and arms 20.6 kg, a leg 11.0 kg (hip 0.8 + 0.8, thigh 4.5, shin 3.2, ankle 0.5,
foot 1.2). Legs straight, it stands with its centre of mass above the middle of the feet. The IMU is in the
trunk. Axes: x forwards, y to the left, z up; every joint turns about an axis through its link's origin.
"""

from dataclasses import dataclass

CONTACTS = ("left_sole", "right_sole")
IMU = "imu"
SOLE = (-0.1, 0.1, -0.06, 0.06)
"""x_min, x_max, y_min, y_max of a foot's sole in its frame [m]."""

HIP_Y = 0.1  # of the hip joints from the middle [m]
IMU_HEIGHT = 0.3  # of the IMU above the hip joints [m]
HEAD = 0.54  # top of the trunk above the hip joints [m]
SOLE_DROP = 0.06  # of the sole below the ankle [m]
EFFORT, SPEED = 400.0, 30.0  # limits of every joint [Nm, rad/s]: not reached


@dataclass(frozen=True, slots=True)
class _Part:
    """A box of even density, hung from the part before it by one joint.

    Attributes:
        name: Name of link and joint.
        axis: Axis of its joint.
        drop: How far its joint is below that of the part before it [m].
        mass: Mass [kg].
        size: Edges of the box along x, y, z [m].
        com_z: Height of the middle of the box above the joint [m].
    """

    name: str
    axis: str
    drop: float
    mass: float
    size: tuple[float, float, float]
    com_z: float


TRUNK = _Part("trunk", "", 0.0, 20.6, (0.2, 0.32, 0.56), 0.26)
LEG = (
    _Part("hip_yaw", "0 0 1", 0.0, 0.8, (0.1, 0.1, 0.1), 0.0),
    _Part("hip_roll", "1 0 0", 0.0, 0.8, (0.1, 0.1, 0.1), 0.0),
    _Part("hip_pitch", "0 1 0", 0.0, 4.5, (0.12, 0.12, 0.38), -0.19),  # thigh
    _Part("knee", "0 1 0", 0.38, 3.2, (0.1, 0.1, 0.38), -0.19),  # shin
    _Part("ankle_pitch", "0 1 0", 0.38, 0.5, (0.06, 0.06, 0.06), 0.0),
    _Part("ankle_roll", "1 0 0", 0.0, 1.2, (0.2, 0.12, 0.04), -0.04),  # foot
)


def biped_urdf() -> str:
    """Return the URDF of the biped, without meshes.

    Returns:
        XML text: base ``trunk``, joints ``left_hip_yaw`` to ``right_ankle_roll``, fixed frames `IMU` in the
        trunk and `CONTACTS` on the soles (origin in the middle, axes those of the foot).
    """
    elements = [_link(TRUNK.name, TRUNK), _frame(IMU, "trunk", (0.0, 0.0, IMU_HEIGHT))]
    for side, y, sole in zip(("left", "right"), (HIP_Y, -HIP_Y), CONTACTS, strict=True):
        parent, shift = "trunk", y
        for part in LEG:
            name = f"{side}_{part.name}"
            elements.append(_link(f"{name}_link", part))
            elements.append(_joint(name, parent, part, shift))
            parent, shift = f"{name}_link", 0.0
        elements.append(_frame(sole, parent, (0.0, 0.0, -SOLE_DROP)))
    return '<?xml version="1.0"?>\n<robot name="biped">\n' + "\n".join(elements) + "\n</robot>\n"


def _link(name: str, part: _Part) -> str:
    x, y, z = part.size
    k = part.mass / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {part.com_z:g}"/><mass value="{part.mass:g}"/>'
        f'<inertia ixx="{k * (y * y + z * z):.8g}" iyy="{k * (x * x + z * z):.8g}" '
        f'izz="{k * (x * x + y * y):.8g}" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'<visual><origin xyz="0 0 {part.com_z:g}"/><geometry><box size="{x:g} {y:g} {z:g}"/></geometry>'
        "</visual></link>"
    )


def _joint(name: str, parent: str, part: _Part, y: float) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>'
        f'<origin xyz="0 {y:g} {-part.drop:g}"/><axis xyz="{part.axis}"/>'
        f'<limit lower="-2.5" upper="2.5" effort="{EFFORT:g}" velocity="{SPEED:g}"/></joint>'
    )


def _frame(name: str, parent: str, p: tuple[float, float, float]) -> str:
    return (
        f'<link name="{name}"/><joint name="{name}_fixed" type="fixed"><parent link="{parent}"/>'
        f'<child link="{name}"/><origin xyz="{p[0]:g} {p[1]:g} {p[2]:g}"/></joint>'
    )
