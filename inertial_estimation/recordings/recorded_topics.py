"""The inputs that a recording can contain, and their topics."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NAMESPACE = "__ns"  # name that stands for the namespace in remappings, as in ROS
INPUTS = ("imu/data", "joint_states", "yaw_reference", "base_state")


@dataclass(frozen=True)
class RecordedTopics:
    """Topics of the inputs: the nodes' own names in the root namespace, unless they are remapped.

    Attributes:
        contacts: Names of the contacts, each of which has wrench topics.
        renamed: Remapped topics, by the nodes' relative names.
        others: Relative names of further inputs: joint states in parts, or custom messages.
        namespace: Namespace of topics that are not remapped, with leading slash; empty: the root namespace.
    """

    contacts: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    others: Sequence[str] = ()
    namespace: str = ""

    def of(self, name: str) -> str:
        """Return the topic of an input, given the pipeline's name for it (``joint_states``)."""
        own = "/".join(map(topic_token, name.split("/")))
        return self.renamed.get(own, f"{self.namespace}/{own}")

    @property
    def joints(self) -> str:
        """Topic of the joint states."""
        return self.of("joint_states")

    @property
    def names(self) -> list[str]:
        """Relative names of all inputs."""
        kinds = ("wrench", "desired_wrench")
        of_contacts = [f"{topic_token(contact)}/{kind}" for kind in kinds for contact in self.contacts]
        return [*INPUTS, *of_contacts, *self.others]


def topic_token(name: str) -> str:
    """Return a name converted to a valid topic name: letters, digits and underscores, no leading digit."""
    token = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{token}" if not token or token[0].isdigit() else token
