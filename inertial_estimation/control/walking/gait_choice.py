"""The kinds of gait, and which one suits a robot's contacts."""

from collections.abc import Callable, Sequence
from enum import Enum

from inertial_estimation.control.contact_constraints import Contact
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.walking.biped import BipedGait
from inertial_estimation.control.walking.crawl import CrawlGait
from inertial_estimation.control.walking.gait import Gait

LEGS_TO_CRAWL = 4  # three are left to stand on


class GaitKind(Enum):
    """A way to walk.

    Attributes:
        BIPED: Steps with two soles; other contacts than those stand.
        CRAWL: Single feet of four or more points, one after the other.
    """

    BIPED = "biped"
    CRAWL = "crawl"


GAITS: dict[GaitKind, Callable[[Sequence[Contact], ControllerConfig], Gait]] = {
    GaitKind.BIPED: lambda contacts, config: BipedGait(contacts, config.walking, config.balance.margin),
    GaitKind.CRAWL: lambda contacts, config: CrawlGait(contacts, config.walking, config.crawl),
}


def gait_kind(contacts: Sequence[Contact]) -> GaitKind:
    """Return the gait that suits contacts.

    Args:
        contacts: The contacts.
    """
    on_points = not any(contact.is_sole for contact in contacts)
    return GaitKind.CRAWL if on_points and len(contacts) >= LEGS_TO_CRAWL else GaitKind.BIPED


def make_gait(contacts: Sequence[Contact], config: ControllerConfig) -> Gait:
    """Make the gait that suits a robot's contacts.

    Args:
        contacts: The contacts.
        config: Parameters of the controller.
    """
    return GAITS[gait_kind(contacts)](contacts, config)
