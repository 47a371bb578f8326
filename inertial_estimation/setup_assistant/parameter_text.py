"""What a survey has found, in words and as a parameter file: values by node, and their text with comments."""

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from inertial_estimation.configuration.node_names import (
    CONTROLLER_NODE,
    IDENTIFICATION,
    INERTIAL_NODE,
    PAYLOAD_NODE,
    SIMULATOR_NODE,
    TILT_NODE,
)
from inertial_estimation.errors import listing, one_line
from inertial_estimation.identification.parameter_set import identifiable_links
from inertial_estimation.inertial.noise import LARGEST
from inertial_estimation.models.contacts import FORCE_JOINTS, WRENCH_JOINTS
from inertial_estimation.models.joint_limits import urdf_limits
from inertial_estimation.models.limbs import subtree_masses
from inertial_estimation.models.measurement_rows import DEFAULTS, FULL_SIZE, MeasurementNoise
from inertial_estimation.setup_assistant.foot_contacts import added_frames
from inertial_estimation.setup_assistant.robot_kind import Kind
from inertial_estimation.setup_assistant.survey import NO_SENSOR, Survey
from inertial_estimation.simulation.config import REALISTIC

RATE_HZ = 333.0
SHORT = 0.5  # height of the base [m] below which a robot needs a stiffer base task
STIFFNESS, STIFFEST = 100.0, 300.0  # default and largest stiffness of the base's orientation task [1/s^2]
LEAST_EFFORT_NOISE, LEAST_FORCE_NOISE = 0.02, 0.1  # least sensor noise of small legged robots [Nm, N]
STEP_HEIGHT = 0.07  # swing height of a foot, share of the height of the base


@dataclass(frozen=True)
class Entry:
    """One line of a parameter file."""

    name: str  # name of the parameter, or of a group of parameters
    value: Any  # its value, for a group a mapping of names to values; None: the entry is a comment alone
    comment: str = ""  # comment for the user; empty: none


def node_entries(survey: Survey) -> dict[str, tuple[Entry, ...]]:
    """Return the parameters of every node that a robot can use, in the order of a parameter file."""
    nodes: dict[str, tuple[Entry, ...]] = {}
    if survey.legged:
        nodes[TILT_NODE] = _tilt(survey)
    if not survey.links:
        return nodes
    nodes[INERTIAL_NODE] = _inertial(survey)
    least = min((len(leg.joints) for leg in survey.decision.legs), default=0)
    if survey.decision.kind is Kind.QUADRUPED and FORCE_JOINTS <= least < WRENCH_JOINTS:
        nodes[PAYLOAD_NODE] = (Entry("trunk", survey.trunk),)
    nodes[IDENTIFICATION] = (_identified(survey),)
    if survey.can_stand:
        nodes[SIMULATOR_NODE] = _simulator(survey)
        nodes[CONTROLLER_NODE] = _controller(survey)
    return nodes


def _identified(survey: Survey) -> Entry:
    """Return the links that `identify` estimates; errors of all other links bias the estimates."""
    if survey.legged:
        text = "standing and walking hardly distinguish the hips from the trunk; []: all links"
        return Entry("links", list(survey.links), text)
    links = identifiable_links(survey.robot)
    if len(links) == survey.robot.model.njoints - 1:
        return Entry("links", [], "all: errors of a link that is left out go into the others")
    return Entry("links", list(links), "all with a mass in the URDF")


def _tilt(survey: Survey) -> tuple[Entry, ...]:
    entries = [Entry("rate", 500.0, "highest rate of estimates; faster readings of the IMU are averaged")]
    if survey.forces_by_torques:
        contact = {"source": "joint_torques"}
        entries.append(Entry("contact", contact, f"{NO_SENSOR}; with sensors: wrench, force or switch"))
    return tuple(entries)


def _inertial(survey: Survey) -> tuple[Entry, ...]:
    entries = [Entry("rate", RATE_HZ)]
    named = ("torque", "base_force", "base_moment", "contact_force") if survey.legged else ("torque",)
    values = MeasurementNoise().for_robot(survey.robot)
    derived = ", ".join(f"{name} {getattr(values, name):.2g}" for name in named)
    noise = Entry("# noise", None, f"from the weight, adapts by a factor of {LARGEST:g}: {derived} (N, Nm)")
    if not survey.legged:
        return (
            *entries,
            Entry("links", list(survey.links), "all: errors of a link that is left out go into the others"),
            noise,
            Entry("friction", {"joints": ["*"]}, "of drives; without it, it goes into the inertias"),
            Entry("contact_wrenches", "none"),
        )
    forearms = ", and the forearms with what the hands hold" if len(survey.links) > 1 else ""
    entries += [Entry("links", list(survey.links), f"the trunk with its load{forearms}"), noise]
    projected = survey.forces_by_torques
    if not any(contact.sole for contact in survey.contacts):
        entries.append(Entry("point_contacts", True, "feet transmit forces, no moments"))
        equations = WRENCH_JOINTS + survey.robot.n_joints  # six of the base, one of each joint
        projected = equations > FORCE_JOINTS * len(survey.contacts)  # unknown forces
    text = (
        "unknown forces are eliminated: no force sensor is needed" if projected else "by sensors of the feet"
    )
    return (*entries, Entry("contact_wrenches", "projected" if projected else "measured", text))


def _simulator(survey: Survey) -> tuple[Entry, ...]:
    share = min(survey.robot.total_mass / FULL_SIZE, 1.0)
    ratio = MeasurementNoise().for_robot(survey.robot).torque / DEFAULTS["torque"]
    effort = max(REALISTIC.effort * ratio, LEAST_EFFORT_NOISE * survey.legged)
    force = max(REALISTIC.force * share, LEAST_FORCE_NOISE)
    sensors: dict[str, Any] = {
        "specific_force": REALISTIC.specific_force,
        "angular_rate": REALISTIC.angular_rate,
        "angular_rate_bias": list(REALISTIC.angular_rate_bias),
        "position": REALISTIC.position,
        "velocity": REALISTIC.velocity,
        "effort": _rounded(effort),
        "force": _rounded(force),
        "torque": _rounded(REALISTIC.torque * share),
    }
    return (
        Entry("lockstep", True, "waits for the command that answers each reading"),
        Entry("sensors", sensors, "noise of the simulated sensors, scaled to the robot"),
    )


def _controller(survey: Survey) -> tuple[Entry, ...]:
    entries = [
        Entry("rate", RATE_HZ),
        Entry("await_inertias", True, "no command before the estimates have begun"),
        Entry("inertias", {"links": list(survey.links)}, "those of inertial_ekf"),
    ]
    if not survey.legged:
        return tuple(entries)
    stiffness = min(STIFFEST, max(STIFFNESS, STIFFNESS * (SHORT / survey.leg_height) ** 2))
    if stiffness > STIFFNESS:
        gains = {"stiffness": _rounded(stiffness)}
        entries.append(Entry("base_orientation", gains, "stiffer, since the robot is small"))
    if any(contact.sole for contact in survey.contacts):
        height = _rounded(min(0.05, STEP_HEIGHT * survey.leg_height))
        entries.append(Entry("walking", {"swing_height": height}))
    return tuple(entries)


def _rounded(value: float) -> float:
    """Return a value with two significant digits."""
    return float(f"{value:.2g}")


WIDTH = 110  # columns
COMMENT_COLUMN = 48
INDENT = " " * 4
DIGITS = 4  # decimal places of joint positions [rad]
TITLES = {
    "tilt_observer": "base orientation from IMU, joints and contacts",
    "inertial_ekf": "inertias of single links, online",
    "trunk_payload": "alternative to inertial_ekf: launch argument trunk_inertia:=trunk_payload",
    "identification": "`inertial-estimation identify`: rows and friction as inertial_ekf",
    "simulator": "`inertial-estimation simulate`, simulation.launch.py",
    "whole_body_controller": "stands, walks or holds the arm with the estimated inertias",
}


def parameter_text(survey: Survey, source: str) -> str:
    """Return the content of a parameter file."""
    lines = [*_head(survey), "/**:", "  ros__parameters:"]
    for entry in _shared(survey, source):
        lines += _written(entry)
    for node, entries in node_entries(survey).items():
        lines += ["", f"/**/{node}:".ljust(COMMENT_COLUMN) + f"# {TITLES[node]}", "  ros__parameters:"]
        for entry in entries:
            lines += _written(entry)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(survey: Survey) -> list[str]:
    robot, kind = survey.robot, survey.decision.kind.value
    texts = [
        f"{survey.described.name}: {kind} of {robot.total_mass:.4g} kg with {robot.n_joints} joints, "
        "written by `inertial-estimation init`. Values that are not here have defaults that suit it "
        "(docs/nodes.md).",
        f"Why {kind}: {survey.decision.reason}.",
    ]
    texts += [f"CHECK: {open_point}." for open_point in survey.open_points]
    if not survey.can_stand:
        texts.append(
            "No sections for simulator and whole_body_controller: on two point feet it cannot stand still."
        )
    return [line for text in texts for line in _comment(one_line(text, limit=600), "")]


def _shared(survey: Survey, source: str) -> list[Entry]:
    entries = [Entry("urdf", source, 'or a path, package://..., "" for the topic robot_description')]
    if not survey.legged:
        entries.append(Entry("floating_base", False))
    if survey.locked:
        entries.append(
            Entry("locked_joints", list(survey.locked), "; ".join(dict.fromkeys(survey.locked.values())))
        )
    if survey.imu:
        entries.append(Entry("imu_frame", survey.imu, survey.imu_reason))
    if survey.legged:
        entries += _contacts(survey)
    return [*entries, *_stance(survey)]


def _contacts(survey: Survey) -> list[Entry]:
    contacts = survey.contacts
    topics = f"topics {contacts[0].name}/wrench ...: force sensed or estimated"
    if survey.forces_by_torques:
        topics = "no topics: their forces come from the joint torques (contact.source of tilt_observer)"
    entries = [
        Entry("contacts", [c.name for c in contacts], topics),
        Entry("contact_frames", [c.frame for c in contacts], contacts[0].source),
    ]
    if survey.wrench_frames:
        entries.append(Entry("wrench_frames", list(survey.wrench_frames), "force sensors of the feet"))
    added = added_frames(contacts)
    if added.names:
        frames = {"names": list(added.names), "links": list(added.links), "poses": list(added.poses)}
        entries.append(Entry("frames", frames, "not in the URDF: x y z roll pitch yaw of each in its link"))
    return entries


def _stance(survey: Survey) -> list[Entry]:
    robot = survey.robot
    named = {
        name: round(float(q), DIGITS)
        for name, q in zip(robot.joint_names, survey.posture, strict=True)
        if round(float(q), DIGITS)
    }
    stance: dict[str, Any] = {"joints": list(named), "positions": list(named.values())} if named else {}
    soles = [number for contact in survey.contacts for number in contact.sole]
    if soles:
        stance["soles"] = soles
    if not stance:
        return []
    place = f"the base {survey.height:.3g} m above level ground" if survey.legged else "where an arm begins"
    return [Entry("stance", stance, f"for simulator and controller: {place}; other joints at zero")]


def _written(entry: Entry) -> list[str]:
    """Return the lines of one entry, its comment on the same line if both fit, else above."""
    if entry.value is None:  # a comment alone
        return _comment(f"{entry.name.lstrip('# ')}: {entry.comment}", INDENT)
    text = f"{INDENT}{entry.name}: {_flow(entry.value)}"
    lines = textwrap.wrap(
        text, WIDTH, subsequent_indent=f"{INDENT}  ", break_long_words=False, break_on_hyphens=False
    )
    if not entry.comment:
        return lines
    commented = f"{lines[0]:<{COMMENT_COLUMN - 1}} # {entry.comment}"
    fits = len(lines) == 1 and len(commented) <= WIDTH
    return [commented] if fits else [*_comment(entry.comment, INDENT), *lines]


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return text.strip().removesuffix("...").strip()


def findings(survey: Survey) -> tuple[str, list[tuple[str, ...]], list[str]]:
    """Return a robot in a line, a table of its joints with their limits, and the decisions of the survey."""
    robot = survey.robot
    fixed = f"{len(survey.locked)} locked" if survey.locked else "none locked"
    first = (
        f"{survey.described.name}: {robot.total_mass:.4g} kg, {len(survey.described.masses)} links, "
        f"{robot.n_joints} moving joints ({fixed})"
    )
    limits, masses = urdf_limits(robot), subtree_masses(robot)
    rows: list[tuple[str, ...]] = [("joint", "from .. to [rad, m]", "effort", "speed", "moves [kg]")]
    for i, name in enumerate(robot.joint_names):
        of_joint = (one[i] for one in (limits.lower, limits.upper, limits.effort, limits.velocity))
        low, high, effort, speed = (f"{x:.4g}" if math.isfinite(x) else "none" for x in of_joint)
        rows.append((name, f"{low} .. {high}", effort, speed, f"{masses[name]:.3g}"))
    lines = []
    if not np.isfinite(limits.effort).all():
        lines.append("  (none: the URDF has no limit; an effort limit of 0 counts as none)")
    lines += ["", f"kind:      {survey.decision.kind.value}: {survey.decision.reason}"]
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
    return first, rows, lines + [f"CHECK:     {open_point}" for open_point in survey.open_points]


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
