"""The inputs that a recording can contain, and their topics."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class RecordedTopics:
    """Topics of the inputs; the defaults are the nodes' own names in the root namespace.

    Attributes:
        imu: Of the IMU; empty: none.
        joints: Of the joint states.
        wrenches: Of the sensed wrenches, by contact.
        desired_wrenches: Of the wrenches that a planner wants, by contact.
        yaw_reference: Of a yaw reference, used when the recording has it.
        base_state: Of a base state, used when the recording has it and no tilt pipeline runs.
        others: Of further inputs, as custom messages, by their names; where not given, those of the nodes.
    """

    imu: str = "/imu/data"
    joints: str = "/joint_states"
    wrenches: Mapping[str, str] = field(default_factory=dict)
    desired_wrenches: Mapping[str, str] = field(default_factory=dict)
    yaw_reference: str = "/yaw_reference"
    base_state: str = "/base_state"
    others: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Return the topic of an input by the name that a pipeline has for it (``joint_states``)."""
        known = {own: str(getattr(self, attribute)) for attribute, own in INPUT_NAMES.items()}
        known |= {f"{contact}/wrench": topic for contact, topic in self.wrenches.items()}
        known |= {f"{contact}/desired_wrench": topic for contact, topic in self.desired_wrenches.items()}
        return {**known, **self.others}.get(name) or "/" + "/".join(map(topic_token, name.split("/")))

    def present_in(self, recorded: Collection[str]) -> list[str]:
        """Return those of the topics that a recording has.

        Args:
            recorded: Topics of the recording.
        """
        contacts = (*self.wrenches.values(), *self.desired_wrenches.values())
        others = self.others.values()
        names = (self.imu, self.joints, *contacts, self.yaw_reference, self.base_state, *others)
        return [name for name in dict.fromkeys(names) if name in recorded]


INPUT_NAMES: Mapping[str, str] = {  # the nodes' relative topic, by the attribute of RecordedTopics
    item.name: item.default.removeprefix("/")
    for item in fields(RecordedTopics)
    if isinstance(item.default, str)
}


def topic_token(name: str) -> str:
    """Return a name converted to a valid topic name: letters, digits and underscores, no leading digit."""
    token = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{token}" if not token or token[0].isdigit() else token
