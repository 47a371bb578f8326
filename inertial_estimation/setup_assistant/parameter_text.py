"""A parameter file as text: sections, values and comments."""

import textwrap
from typing import Any

import yaml

from inertial_estimation.errors import one_line
from inertial_estimation.setup_assistant.foot_contacts import added_frames
from inertial_estimation.setup_assistant.parameter_values import Entry, node_entries
from inertial_estimation.setup_assistant.survey import Survey

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
