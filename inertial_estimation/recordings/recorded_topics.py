"""The inputs that a recording can contain, and their topics."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NAMESPACE = "__ns"  # in place of a topic: the namespace, as ROS writes it
INPUTS = ("imu/data", "joint_states", "yaw_reference", "base_state")


@dataclass(frozen=True)
class RecordedTopics:
    """Topics of the inputs: the nodes' own names in the root namespace, or what replaces them.

    Attributes:
        contacts: Contacts, which have wrenches.
        renamed: Topics by the nodes' relative names, where they differ.
        others: Further inputs by relative name, as joint states in parts, or custom messages.
        namespace: Namespace of the others, with its leading slash; empty for the root namespace.
    """

    contacts: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    others: Sequence[str] = ()
    namespace: str = ""

    def of(self, name: str) -> str:
        """Return the topic of an input by the name that a pipeline has for it (``joint_states``)."""
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
