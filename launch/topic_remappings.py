"""The launch argument `remap`: pairs FROM:=TO and presets, which apply to all nodes."""

import difflib
import re
from collections.abc import Iterable, Mapping

from inertial_estimation.recordings.recorded_topics import INPUTS as READ
from inertial_estimation.recordings.recorded_topics import topic_token

CONTACT = "<contact>"
PRESETS = {
    # default names of ros2_control's broadcasters; joint_state_broadcaster publishes joint_states as it is
    "ros2_control": {
        "imu/data": "imu_sensor_broadcaster/imu",
        f"{CONTACT}/wrench": f"{CONTACT}_force_torque_sensor_broadcaster/wrench",
    },
}
INPUTS = (*READ, "robot_description")
NAME = re.compile(r"(?!__)(?:~?/)?[A-Za-z_]\w*(?:/[A-Za-z_]\w*)*", re.ASCII)


def parse_remap(text: str, contacts: Iterable[str] = ()) -> dict[str, str]:
    """Read the launch argument.

    Args:
        text: Pairs FROM:=TO and names of presets, separated by commas; a later one overrides an earlier one.
            Names without a leading slash are relative to the namespace.
        contacts: Contacts of the robot, whose topics the presets name.

    Returns:
        New topic name by the nodes' own.

    Raises:
        RuntimeError: If something is neither a pair of topic names nor a preset, or resembles a topic that
            exists; the message names what is expected.
    """
    tokens = [topic_token(contact) for contact in contacts]
    known = [*INPUTS, *(f"{token}/wrench" for token in tokens)]
    rules: dict[str, str] = {}
    for item in (part.strip() for part in text.split(",")):
        if item in PRESETS:
            rules.update(_preset(item, tokens))
        elif item:
            old, new = _pair(item, known)
            rules[old] = new
    return rules


def combined(own: Iterable[tuple[str, str]], rules: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return a node's remappings: those of the launch file, followed by the user's on the resulting names.

    Args:
        own: Topics of this node that change in the launch file, as (from, to).
        rules: The argument `remap`.
    """
    renamed = {old: rules.get(new, new) for old, new in own}
    return list({**rules, **renamed}.items())


def _preset(name: str, tokens: list[str]) -> dict[str, str]:
    rules: dict[str, str] = {}
    for old, new in PRESETS[name].items():
        for token in tokens if CONTACT in old else [""]:
            rules[old.replace(CONTACT, token)] = new.replace(CONTACT, token)
    return rules


def _pair(item: str, known: list[str]) -> tuple[str, str]:
    old, sign, new = (part.strip() for part in item.partition(":="))
    if not sign:
        raise RuntimeError(
            f"'{item}' in remap is neither a pair FROM:=TO nor a preset; presets: {', '.join(PRESETS)}"
        )
    for name in (old, new):
        if NAME.fullmatch(name) is None:
            hint = "; the launch argument is namespace:=" if old == "__ns" else ""
            raise RuntimeError(f"'{name}' in remap '{item}' is no topic name{hint}")
    close = difflib.get_close_matches(old, known, n=1, cutoff=0.8)
    if close and old not in known:
        raise RuntimeError(f"no topic '{old}' to remap, did you mean '{close[0]}'?")
    return old, new
