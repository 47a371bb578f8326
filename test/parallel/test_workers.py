"""Workers: results in the order of the calls whatever runs them, and none lost where a process is killed."""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import worker_calls

from inertial_estimation.errors import ConfigurationError, WorkerError
from inertial_estimation.parallel import Workers


@pytest.fixture(scope="module")
def two() -> Workers:
    return Workers(2)


def same_bits(workers: Workers) -> None:
    """Processes give the bits of this one."""
    calls = [partial(worker_calls.sums, seed) for seed in range(5)]
    here = Workers().results(calls)
    for (expected, column), (found, received) in zip(here, workers.results(calls), strict=True):
        assert found == expected
        np.testing.assert_array_equal(received, column)
        assert received.strides == column.strides  # later sums are made of it in the same order


def test_process_killed_in_the_middle_loses_nothing(two: Workers, tmp_path: Path) -> None:
    counts = []
    calls = [partial(worker_calls.killed_once, tmp_path, number, 2) for number in range(6)]
    assert two.results(calls, counts.append) == list(range(6))
    assert counts == [1, 2, 3, 4, 5, 6]
    assert worker_calls.begun(tmp_path, 2) == 2
    same_bits(two)  # and the others go on


def test_call_that_always_kills_its_process_is_given_up(two: Workers, tmp_path: Path) -> None:
    calls = [partial(worker_calls.sums, 0), partial(worker_calls.killed_always, tmp_path, 1)]
    with pytest.raises(WorkerError, match="killed 3 times"):
        two.results(calls)
    assert worker_calls.begun(tmp_path, 1) == 3


@pytest.mark.parametrize("where", ["here", "two"])
def test_error_of_a_call_reaches_the_caller(where: str, two: Workers) -> None:
    workers = Workers() if where == "here" else two
    with pytest.raises(ConfigurationError, match="call 1 is wrong"):
        workers.results([partial(worker_calls.sums, 0), partial(worker_calls.wrong, 1)])
    same_bits(workers)


def test_error_of_a_call_ends_those_that_run(two: Workers, tmp_path: Path) -> None:
    calls = [partial(worker_calls.slow, tmp_path, 0), partial(worker_calls.wrong_after, tmp_path, 0)]
    begin = time.monotonic()
    with pytest.raises(ConfigurationError, match="call 0 is wrong"):
        two.results(calls)
    assert time.monotonic() - begin < 50.0  # not the minute that the other one takes
    same_bits(two)


def test_calls_do_not_see_what_others_change() -> None:
    shared = [0]
    assert Workers().results([partial(shared.__iadd__, [1])] * 2) == [[0, 1], [0, 1]]
    assert shared == [0]


def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from functools import partial\n"
        "from support import worker_calls\n"
        "from inertial_estimation.parallel import Workers\n"
        "Workers(2).results([partial(worker_calls.slow, Path(sys.argv[1]), 0)])\n"
    )
    path = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        deadline = time.monotonic() + 60.0
        while not worker_calls.begun(tmp_path, 0) and time.monotonic() < deadline:
            time.sleep(0.02)
        (file,) = tmp_path.iterdir()
    finally:
        parent.kill()
        parent.wait()
    child = int(file.name.split("_")[1])
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
