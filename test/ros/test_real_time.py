"""What the system refuses is said; the search for cycles is made when its owner says so."""

import gc
import os
import resource
import subprocess
import sys

import pytest

from inertial_estimation.node_options import RealTimeOptions

pytest.importorskip("rclpy", reason="needs rclpy and the ROS messages")

from inertial_estimation.ros import real_time
from inertial_estimation.ros.real_time import COLLECTION_PERIOD, CycleCollector, apply_real_time


def run_limited(code):
    """Run code as somebody who may neither use real-time priorities nor lock memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    return subprocess.run(
        [sys.executable, "-c", code], preexec_fn=limit, capture_output=True, text=True, timeout=60.0
    )


CODE = """
import sys
sys.path[:0] = {path!r}
from inertial_estimation.node_options import RealTimeOptions
from inertial_estimation.ros.real_time import apply_real_time
for sentence in apply_real_time(RealTimeOptions(priority=40, lock_memory=True)):
    print(sentence)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give its rights away")
def test_what_is_refused_is_said_with_the_remedy():
    said = run_limited(CODE.format(path=sys.path))
    assert said.returncode == 0, said.stderr
    priority, memory = said.stdout.splitlines()
    assert "realtime.priority 40 is refused" in priority
    assert "limits.conf" in priority
    assert "realtime.lock_memory is refused" in memory


def test_nothing_asked_for_is_nothing_done(monkeypatch):
    monkeypatch.setattr(real_time, "_set_priority", lambda _priority: pytest.fail("not asked for"))
    monkeypatch.setattr(real_time, "_lock_memory", lambda: pytest.fail("not asked for"))
    assert apply_real_time(RealTimeOptions()) == []


def test_all_threads_get_the_priority(monkeypatch):
    given = {}
    monkeypatch.setattr(os, "sched_setscheduler", lambda pid, policy, parameters: given.update({pid: policy}))
    assert apply_real_time(RealTimeOptions(priority=10)) == []
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
