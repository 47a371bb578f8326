"""Small descriptions of robots, made as vendors make theirs: names, order and oddities are the caller's."""

from dataclasses import dataclass, field

LIMIT = 'lower="-2" upper="2" effort="80" velocity="10"'


@dataclass
class Urdf:
    """A description that grows link by link.

    Attributes:
        parts: The elements.
    """

    parts: list[str] = field(default_factory=list)

    def link(self, name: str, mass: float = 0.0, size: tuple[float, float, float] = (0.1, 0.1, 0.1)) -> None:
        """Add a link; a mass gives it the inertia and the shape of a box about its origin [kg], [m]."""
        if not mass:
            self.parts.append(f'<link name="{name}"/>')
            return
        x, y, z = size
        ixx, iyy, izz = (mass * (a * a + b * b) / 12.0 for a, b in ((y, z), (x, z), (x, y)))
        self.parts.append(
            f'<link name="{name}"><inertial><origin xyz="0 0 {-0.5 * z:g}"/><mass value="{mass:g}"/>'
            f'<inertia ixx="{ixx:g}" iyy="{iyy:g}" izz="{izz:g}" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<collision><origin xyz="0 0 {-0.5 * z:g}"/><geometry><box size="{x:g} {y:g} {z:g}"/></geometry>'
            "</collision></link>"
        )

    def joint(
        self,
        name: str,
        parent: str,
        child: str,
        at: tuple[float, float, float] = (0.0, 0.0, 0.0),
        axis: str = "",
        limit: str = LIMIT,
    ) -> None:
        """Add a joint: revolute about an axis, fixed without one."""
        kind = "revolute" if axis else "fixed"
        xyz = " ".join(f"{value:g}" for value in at)
        moving = f'<axis xyz="{axis}"/><limit {limit}/>' if axis else ""
        self.parts.append(
            f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/><parent link="{parent}"/>'
            f'<child link="{child}"/>{moving}</joint>'
        )

    def text(self) -> str:
        """Return the XML."""
        return f'<?xml version="1.0"?>\n<robot name="robot">\n{chr(10).join(self.parts)}\n</robot>\n'


X, Y, Z = "1 0 0", "0 1 0", "0 0 1"
LEG = (("hip_yaw", Z, 0.5), ("hip_roll", X, 1.0), ("hip_pitch", Y, 4.0), ("knee", Y, 2.5), ("ankle", Y, 0.5))


def humanoid(
    base: str = "pelvis",
    joint_name: str = "{side}_{part}_joint",
    link_name: str = "{side}_{part}_link",
    foot: str = "{side}_foot",
) -> Urdf:
    """Return two legs of five joints, each with a foot, below a base with an IMU.

    Args:
        base: Name of the link that carries the legs.
        joint_name: Pattern of the joints' names.
        link_name: Pattern of the links' names.
        foot: Pattern of the names of the feet, which roll about the ankles.
    """
    urdf = Urdf()
    urdf.link(base, 15.0, (0.2, 0.3, 0.3))
    urdf.link("imu")
    urdf.joint("imu_fixed", base, "imu")
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent, at = base, (0.0, y, -0.3)
        for part, axis, mass in LEG:
            child, long = link_name.format(side=side, part=part), part in ("hip_pitch", "knee")
            urdf.link(child, mass, (0.08, 0.08, 0.35 if long else 0.05))
            urdf.joint(joint_name.format(side=side, part=part), parent, child, at, axis)
            parent, at = child, (0.0, 0.0, -0.35 if long else 0.0)
        name = foot.format(side=side)
        urdf.link(name, 0.8, (0.2, 0.1, 0.05))
        urdf.joint(joint_name.format(side=side, part="ankle_roll"), parent, name, (0.0, 0.0, -0.03), X)
    return urdf


def arm(
    masses: tuple[float, ...], lengths: tuple[float, ...], efforts: tuple[float, ...], reach: float
) -> str:
    """Return an arm on a base, its joints about z, y, y, x, y, x in turn.

    Args:
        masses: Of its links [kg].
        lengths: Of its links [m].
        efforts: Limits of its joints [Nm].
        reach: Limit of all positions, on either side [rad].
    """
    urdf = Urdf()
    urdf.link("base_link", masses[0], (lengths[0], lengths[0], lengths[0]))
    parent, at = "base_link", (0.0, 0.0, 0.5 * lengths[0])
    for i, (mass, length, effort) in enumerate(zip(masses, lengths, efforts, strict=True)):
        name, wide = f"link_{i + 1}", 0.3 * length
        urdf.link(name, mass, (wide, wide, length))
        limit = f'lower="{-reach:g}" upper="{reach:g}" effort="{effort:g}" velocity="3"'
        urdf.joint(f"joint_{i + 1}", parent, name, at, (Z, Y, Y, X, Y, X)[i], limit)
        parent, at = name, (0.0, 0.0, -length)
    return urdf.text()
