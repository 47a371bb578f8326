"""Which gait suits a robot's contacts."""

from collections.abc import Sequence

from inertial_estimation.control.contact_forces import Contact
from inertial_estimation.control.controller_config import ControllerConfig
from inertial_estimation.control.walking.crawl import CrawlGait
from inertial_estimation.control.walking.gait import Gait

__all__ = ["make_gait"]

LEGS_TO_CRAWL = 4  # three are left to stand on


def make_gait(contacts: Sequence[Contact], config: ControllerConfig) -> Gait | CrawlGait:
    """Return the crawl for four or more points, else the gait of two soles, which refuses other contacts.

    Args:
        contacts: The contacts.
        config: Parameters of the controller.
    """
    if len(contacts) >= LEGS_TO_CRAWL and not any(contact.is_sole for contact in contacts):
        return CrawlGait(contacts, config.walking, config.crawl)
    return Gait(contacts, config.walking, config.balance.margin)
