"""The garbage collector leaves what a replay stores alone, and is as it was afterwards."""

import gc
import weakref

import pytest

from inertial_estimation.replay.replay import no_cycle_collection


@pytest.fixture(autouse=True)
def _collector():
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_was_stored_counts_as_old():
    gc.enable()
    with no_cycle_collection():
        assert not gc.isenabled()
        stored = [[number] for number in range(1000)]
    assert gc.isenabled()
    young = {id(each) for each in gc.get_objects(generation=0)}
    assert not young.intersection(map(id, stored))


def test_cycles_among_it_are_still_found():
    gc.enable()
    with no_cycle_collection():
        seen = weakref.ref(Node())
        assert seen() is not None
    gc.collect()
    assert seen() is None


def test_a_collector_that_was_off_stays_off_and_objects_put_aside_stay_there():
    gc.disable()
    with no_cycle_collection():
        pass
    assert not gc.isenabled()
    gc.enable()
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with pytest.raises(KeyError), no_cycle_collection():
            raise KeyError
        assert gc.isenabled()
        assert gc.get_freeze_count() == before
    finally:
        gc.unfreeze()
