"""The registry of all kinds of faults; a kind is a function in one of the modules imported here."""

from benchmarks.fault_campaign import (  # noqa: F401
    delivery_kinds,
    message_kinds,
    mounting_kinds,
    value_kinds,
)
from benchmarks.fault_campaign.fault import KINDS  # noqa: F401
