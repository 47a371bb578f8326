"""Robots in a line for each link and joint; a robot adds what is special about its own."""

MOMENTS = (0.1, 0.1, 0.1)  # [kg m^2]
LIMIT = (-3, 3, 100, 10)  # lower, upper [rad], effort [Nm], speed [rad/s]


def link_xml(name, mass=0.0, com="0 0 0", moments=MOMENTS, *, products=(0, 0, 0), rpy="0 0 0", more=""):
    """A link; with a mass it has an inertia: ixx, iyy, izz and ixy, ixz, iyz about its centre of mass."""
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    inertia = " ".join(f'{n}="{v:g}"' for n, v in zip(names, (*moments, *products), strict=True))
    origin = f'<origin xyz="{com}" rpy="{rpy}"/>'
    inertial = f'<inertial>{origin}<mass value="{mass:g}"/><inertia {inertia}/></inertial>'
    return f'<link name="{name}">{inertial if mass else ""}{more}</link>'


def joint_xml(name, parent, child, axis="0 1 0", xyz="0 0 0", *, kind="revolute", rpy="0 0 0", limit=LIMIT):
    """A joint that moves from a lower to an upper limit, with limits of effort and speed."""
    numbers = zip(("lower", "upper", "effort", "velocity"), limit, strict=True)
    limits = "<limit " + " ".join(f'{n}="{v:g}"' for n, v in numbers) + "/>" if kind != "fixed" else ""
    place = f'<origin xyz="{xyz}" rpy="{rpy}"/><parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{place}<axis xyz="{axis}"/>{limits}</joint>'


def robot_xml(*parts: str, name="r") -> str:
    """The robot of links and joints."""
    return f'<robot name="{name}">{"".join(parts)}</robot>'
