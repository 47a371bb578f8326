"""Small robot descriptions in the manner of vendors; the caller chooses names, order and peculiarities."""

X, Y, Z = "1 0 0", "0 1 0", "0 0 1"
LIMIT = 'lower="-2" upper="2" effort="80" velocity="10"'
LEG = (("hip_yaw", Z, 0.5), ("hip_roll", X, 1.0), ("hip_pitch", Y, 4.0), ("knee", Y, 2.5), ("ankle", Y, 0.5))
Vector = tuple[float, float, float]


class Urdf:
    """A description that grows link by link.

    Attributes:
        parts: The elements.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []

    def link(self, name: str, mass: float = 0.0, size: Vector = (0.1, 0.1, 0.1)) -> None:
        """Add a link; a mass [kg] gives it inertia and shape of a box that hangs at its origin [m]."""
        x, y, z = size
        ixx, iyy, izz = (mass * (a * a + b * b) / 12.0 for a, b in ((y, z), (x, z), (x, y)))
        origin = f'<origin xyz="0 0 {-0.5 * z:g}"/>'
        inertia = f'<inertia ixx="{ixx:g}" iyy="{iyy:g}" izz="{izz:g}" ixy="0" ixz="0" iyz="0"/>'
        box = f'<collision>{origin}<geometry><box size="{x:g} {y:g} {z:g}"/></geometry></collision>'
        content = f'<inertial>{origin}<mass value="{mass:g}"/>{inertia}</inertial>{box}' if mass else ""
        self.parts.append(f'<link name="{name}">{content}</link>')

    def joint(
        self,
        name: str,
        parent: str,
        child: str,
        at: Vector = (0.0, 0.0, 0.0),
        axis: str = "",
        limit: str = LIMIT,
    ) -> None:
        """Add a joint: revolute about an axis, fixed without one."""
        moving = f'<axis xyz="{axis}"/><limit {limit}/>' if axis else ""
        self.parts.append(
            f'<joint name="{name}" type="{"revolute" if axis else "fixed"}"><parent link="{parent}"/>'
            f'<child link="{child}"/><origin xyz="{at[0]:g} {at[1]:g} {at[2]:g}"/>{moving}</joint>'
        )

    def text(self) -> str:
        """Return the XML."""
        return f'<?xml version="1.0"?>\n<robot name="robot">\n{chr(10).join(self.parts)}\n</robot>\n'


def humanoid(
    base: str = "pelvis", joint_name: str = "{side}_{part}_joint", link_name: str = "{side}_{part}_link"
) -> Urdf:
    """Return a base with an IMU and two legs of six joints with feet; names follow the given patterns."""
    urdf = Urdf()
    urdf.link(base, 15.0, (0.2, 0.3, 0.3))
    urdf.link("imu")
    urdf.joint("imu_fixed", base, "imu")
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent, at = base, (0.0, y, -0.3)
        for part, axis, mass in LEG:
            child, length = (
                link_name.format(side=side, part=part),
                0.35 if part in ("hip_pitch", "knee") else 0.0,
            )
            urdf.link(child, mass, (0.08, 0.08, length or 0.05))
            urdf.joint(joint_name.format(side=side, part=part), parent, child, at, axis)
            parent, at = child, (0.0, 0.0, -length)
        urdf.link(f"{side}_foot", 0.8, (0.2, 0.1, 0.05))
        urdf.joint(
            joint_name.format(side=side, part="ankle_roll"), parent, f"{side}_foot", (0.0, 0.0, -0.03), X
        )
    return urdf


def arm(
    masses: tuple[float, ...], lengths: tuple[float, ...], efforts: tuple[float, ...], reach: float
) -> str:
    """Return an arm, its joints about z, y, y, x, y, x in turn: links [kg], [m], limits [Nm], [rad]."""
    urdf = Urdf()
    urdf.link("base_link", masses[0], (lengths[0], lengths[0], lengths[0]))
    parent, at = "base_link", (0.0, 0.0, 0.5 * lengths[0])
    for i, (mass, length, effort) in enumerate(zip(masses, lengths, efforts, strict=True), start=1):
        urdf.link(f"link_{i}", mass, (0.3 * length, 0.3 * length, length))
        limit = f'lower="{-reach:g}" upper="{reach:g}" effort="{effort:g}" velocity="3"'
        urdf.joint(f"joint_{i}", parent, f"link_{i}", at, (Z, Y, Y, X, Y, X)[i - 1], limit)
        parent, at = f"link_{i}", (0.0, 0.0, -length)
    return urdf.text()
