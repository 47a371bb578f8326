"""Frames of the sensors of a robot: its IMU, and the force sensors of its feet."""

from collections.abc import Sequence

from inertial_estimation.models.imu import ImuMount
from inertial_estimation.models.robot_model import RobotModel
from inertial_estimation.setup_assistant.description import Description
from inertial_estimation.setup_assistant.foot_contacts import FootContact
from inertial_estimation.setup_assistant.name_words import is_imu

NO_IMU = "the URDF names no IMU: taken to be in the axes of the base"
AS_ASKED = "as asked"
NO_SENSOR = "the URDF has no force sensor in every foot"


def imu_frame(robot: RobotModel, described: Description, wanted: str) -> tuple[str, str]:
    """Return the link of the IMU, and why it is that one.

    Raises:
        ~inertial_estimation.errors.ModelError: If there is no link of the wanted name.
    """
    if wanted:
        robot.frame_id(wanted)
        return wanted, AS_ASKED
    if not described.imus:
        base = robot.body_links(robot.link_body(robot.base_link).joint_id)
        return next((link for link in base if described.masses[link] > 0.0), robot.base_link), NO_IMU
    distance = {link: len(ImuMount.on(robot, link).moving) for link in described.imus}
    best = min(described.imus, key=lambda link: (distance[link], not is_imu(link), "gyro" in link.lower()))
    others = [link for link in described.imus if link != best]
    where = "fixed to the base" if not distance[best] else f"{distance[best]} joints from the base"
    also = f"; others: {', '.join(others[:4])}" if others else ""
    return best, f"{where}{also}"


def wrench_frames(
    robot: RobotModel, described: Description, contacts: Sequence[FootContact]
) -> tuple[str, ...]:
    """Return the frame of the force sensor of every foot; none unless every foot has one."""
    found = []
    for contact in contacts:
        body = robot.link_body(contact.link).joint_id
        found += [n for n in described.force_sensors if robot.link_body(n).joint_id == body][:1]
    return tuple(found) if len(found) == len(contacts) else ()
