"""All kinds of faults, by name."""

from benchmarks.fault_campaign.compound_faults import COMPOUND_KINDS
from benchmarks.fault_campaign.delivery_faults import DELIVERY_KINDS
from benchmarks.fault_campaign.driver_faults import DRIVER_KINDS
from benchmarks.fault_campaign.fault import Kind
from benchmarks.fault_campaign.message_faults import MESSAGE_KINDS
from benchmarks.fault_campaign.transport_faults import TRANSPORT_KINDS
from benchmarks.fault_campaign.value_faults import VALUE_KINDS
from benchmarks.fault_campaign.wiring_faults import WIRING_KINDS

_EARLIER = (*VALUE_KINDS, *WIRING_KINDS, *DELIVERY_KINDS, *TRANSPORT_KINDS, *MESSAGE_KINDS)
_ALL = (*_EARLIER, *DRIVER_KINDS, *COMPOUND_KINDS)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
