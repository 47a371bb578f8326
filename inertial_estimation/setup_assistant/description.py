"""The parts of a URDF that the setup assistant needs: joints, masses, and the sensors that it names."""

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from inertial_estimation.models.urdf import attribute_of, check_urdf
from inertial_estimation.setup_assistant.name_words import is_force_sensor, is_imu

ROUND_OFF = 1e-3  # largest angle of a pose that counts as zero [rad]


@dataclass(frozen=True)
class DescribedJoint:
    """A joint of a URDF that is not fixed."""

    name: str
    kind: str  # revolute, continuous, prismatic, floating or planar
    child: str  # link that it moves
    mimics: str  # joint that it mimics; empty for a joint with a motor of its own


@dataclass(frozen=True)
class Description:
    """The parts of a URDF that determine the choice of parameters."""

    name: str  # name of the robot
    joints: tuple[DescribedJoint, ...]  # joints that are not fixed
    masses: dict[str, float]  # mass of every link [kg], zero without an <inertial>
    imus: tuple[str, ...]  # links that carry an IMU, by their names or by a simulated sensor
    force_sensors: tuple[str, ...]  # links that carry a force-torque sensor
    # pose "x y z roll pitch yaw" of simulated IMUs that are rotated relative to their links, by link
    turned_imus: dict[str, str]


def describe(urdf: str) -> Description:
    """Read a URDF.

    Raises:
        ~inertial_estimation.errors.ModelError: If it is not the URDF of a possible robot.
    """
    root = check_urdf(urdf)
    joints = root.findall("joint")
    children = {joint.get("name", ""): attribute_of(joint, "child", "link") for joint in joints}
    masses = {
        link.get("name", ""): float(attribute_of(link, "inertial/mass", "value") or 0.0)
        for link in root.findall("link")
    }
    moving = tuple(
        DescribedJoint(name, joint.get("type", ""), children[name], attribute_of(joint, "mimic", "joint"))
        for name, joint in ((joint.get("name", ""), joint) for joint in joints)
        if joint.get("type") != "fixed"
    )
    imus, force_sensors = (_simulated_sensors(root, children, kind) for kind in ("imu", "force_torque"))
    return Description(
        root.get("name", "robot") or "robot",
        moving,
        masses,
        tuple(n for n in masses if is_imu(n) or n in imus),
        tuple(n for n in masses if is_force_sensor(n) or n in force_sensors),
        {link: pose for link, pose in imus.items() if _is_turned(pose)},
    )


def _simulated_sensors(root: Element, children: dict[str, str], kind: str) -> dict[str, str]:
    """Return the poses of the simulated sensors of one type (<gazebo><sensor>), by link."""
    found: dict[str, str] = {}
    for gazebo in root.findall("gazebo"):
        place = gazebo.get("reference", "")
        for sensor in gazebo.iter("sensor"):
            if sensor.get("type", "") == kind:
                found.setdefault(
                    children.get(place, place), " ".join((sensor.findtext("pose") or "").split())
                )
    return found


def _is_turned(pose: str) -> bool:
    try:
        return any(abs(float(angle)) > ROUND_OFF for angle in pose.split()[3:])
    except ValueError:  # not a number: the pose is reported to the user unchanged
        return True
