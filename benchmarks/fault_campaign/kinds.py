"""All kinds of faults, by name."""

from benchmarks.fault_campaign.delivery_faults import DELIVERY_KINDS
from benchmarks.fault_campaign.fault import Kind
from benchmarks.fault_campaign.message_faults import MESSAGE_KINDS
from benchmarks.fault_campaign.value_faults import VALUE_KINDS

__all__ = ["KINDS"]

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*VALUE_KINDS, *DELIVERY_KINDS, *MESSAGE_KINDS)}
