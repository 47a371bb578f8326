"""What was found about a robot, as lines for the terminal."""

import math

from inertial_estimation.errors import listing
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.limbs import subtree_masses
from inertial_estimation.setup_assistant.survey import NO_SENSOR, Survey


def findings(survey: Survey) -> list[str]:
    """Return the joints of a robot with their limits, and what was decided, in lines."""
    robot = survey.robot
    fixed = f"{len(survey.locked)} locked" if survey.locked else "none locked"
    lines = [
        f"{survey.described.name}: {robot.total_mass:.4g} kg, {len(survey.described.masses)} links, "
        f"{robot.n_joints} moving joints ({fixed})",
        *_joint_table(survey),
        "",
        f"kind:      {survey.decision.kind.value}: {survey.decision.reason}",
    ]
    if survey.locked:
        by_reason: dict[str, list[str]] = {}
        for name, reason in survey.locked.items():
            by_reason.setdefault(reason, []).append(name)
        lines += [f"locked:    {listing(names, limit=6)} ({reason})" for reason, names in by_reason.items()]
    lines.append(f"imu:       {survey.imu or 'none'} ({survey.imu_reason})")
    for contact in survey.contacts:
        place = ", ".join(f"{value:.3f}" for value in contact.pose[:3])
        new = f"new on '{contact.link}' at ({place}) m: " if contact.pose else ""
        size, sole = ", a point", contact.sole
        if sole:
            size = f", sole {100 * (sole[1] - sole[0]):.1f} x {100 * (sole[3] - sole[2]):.1f} cm"
        lines.append(f"contact:   {contact.name}: {contact.frame} ({new}{contact.source}{size})")
    if survey.legged:
        lines.append(f"wrenches:  {_wrenches(survey)}")
        lines.append(
            f"stance:    base {survey.height:.3f} m above the ground, feet {survey.stance_width:.2f} m apart"
        )
    lines.append(f"estimates: {listing(survey.links)}")
    return lines + [f"CHECK:     {open_point}" for open_point in survey.open_points]


def _wrenches(survey: Survey) -> str:
    if survey.wrench_frames:
        return listing(survey.wrench_frames)
    if survey.forces_by_torques:
        return f"{NO_SENSOR}: contact forces come from the joint torques (contact.source: joint_torques)"
    topics = listing(f"{contact.name}/wrench" for contact in survey.contacts)
    return (
        f"{NO_SENSOR}, and torques give the forces of legs with 3 to 5 joints on points, with 6 or more on "
        f"soles: publish {topics}"
    )


def _joint_table(survey: Survey) -> list[str]:
    robot, limits, masses = survey.robot, urdf_limits(survey.robot), subtree_masses(survey.robot)
    width = max(len(name) for name in robot.joint_names)
    lines = [f"  {'joint':<{width}}   from .. to [rad, m]   effort   speed   moves [kg]"]
    for i, name in enumerate(robot.joint_names):
        reach = f"{_limit(limits.lower[i])} .. {_limit(limits.upper[i])}"
        effort, speed = _limit(limits.effort[i]), _limit(limits.velocity[i])
        lines.append(f"  {name:<{width}}   {reach:<19}   {effort:<6}   {speed:<5}   {masses[name]:.3g}")
    if not all(math.isfinite(effort) for effort in limits.effort):
        lines.append("  (none: the URDF has no limit; an effort limit of 0 counts as none)")
    return lines


def _limit(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "none"
