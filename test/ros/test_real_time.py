"""What the system refuses is said; the search for cycles is made when its owner says so."""

import gc
import os
import resource

import pytest

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from inertial_estimation.ros import real_time
from inertial_estimation.ros.real_time import COLLECTION_PERIOD, CycleCollector, apply_real_time


def said_without_rights(priority):
    """What a process hears that may neither use real-time priorities nor lock memory."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
            os.setuid(65534)
            os.write(write, "\n".join(apply_real_time(priority)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text.splitlines()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give its rights away")
def test_what_is_refused_is_said_with_the_remedy():
    priority, memory = said_without_rights(40)
    assert "realtime_priority 40 is refused" in priority
    assert "limits.conf" in priority
    assert "locking the memory is refused" in memory
    assert "memlock" in memory


def test_nothing_asked_for_is_nothing_done(monkeypatch):
    monkeypatch.setattr(real_time, "_set_priority", lambda _priority: pytest.fail("not asked for"))
    monkeypatch.setattr(real_time, "_lock_memory", lambda: pytest.fail("not asked for"))
    assert apply_real_time(0) == []


def test_all_threads_get_the_priority(monkeypatch):
    given = {}
    monkeypatch.setattr(os, "sched_setscheduler", lambda pid, policy, parameters: given.update({pid: policy}))
    monkeypatch.setattr(real_time, "_lock_memory", lambda: None)
    assert apply_real_time(10) == []
    assert set(given) == {int(name) for name in os.listdir("/proc/self/task")}
    assert set(given.values()) == {os.SCHED_FIFO}


def test_cycles_are_searched_for_when_due_and_by_nobody_else(monkeypatch):
    now, searches = [100.0], []
    monkeypatch.setattr(real_time.time, "monotonic", lambda: now[0])
    try:
        collector = CycleCollector()
        assert not gc.isenabled()
        monkeypatch.setattr(gc, "collect", lambda: searches.append(now[0]))
        for _ in range(100):
            now[0] += 0.025 * COLLECTION_PERIOD
            collector.collect_when_due()
        assert len(searches) == 2
    finally:
        gc.enable()
        gc.unfreeze()


def test_objects_of_a_late_import_are_excluded_and_few_new_ones_are_not(monkeypatch):
    now, freezes, freeze = [100.0], [], gc.freeze
    monkeypatch.setattr(real_time.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(gc, "freeze", lambda: freezes.append(freeze()))
    try:
        collector = CycleCollector()
        few = [[] for _ in range(100)]
        now[0] += 1.1 * COLLECTION_PERIOD
        collector.collect_when_due()
        assert len(freezes) == 1  # not by their number: objects excluded before may end at any time
        excluded = gc.get_freeze_count()
        many = [[] for _ in range(2 * real_time.MANY_NEW)]
        now[0] += 1.1 * COLLECTION_PERIOD
        collector.collect_when_due()
        assert len(freezes) == 2
        assert gc.get_freeze_count() >= excluded + len(few) + len(many)
    finally:
        gc.enable()
        gc.unfreeze()
