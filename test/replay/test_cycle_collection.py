"""The garbage collector pauses during a replay, and is as it was afterwards."""

import gc

import pytest

from inertial_estimation.replay.replay import no_cycle_collection


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_also_after_an_error(enabled):
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with no_cycle_collection():
            assert not gc.isenabled()
        with pytest.raises(KeyError), no_cycle_collection():
            raise KeyError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
