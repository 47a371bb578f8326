"""A long call beside the steps of a node is executed by another process, which ends with its owner."""

import gc
import math
import operator
import os
import time
from functools import partial

from inertial_estimation.ros.separate_process import SeparateProcess


def result_of(process, limit_s=60.0):
    end = time.monotonic() + limit_s
    while (result := process()) is None and time.monotonic() < end:
        time.sleep(0.01)
    return result


def test_the_result_comes_from_a_process_of_the_lowest_priority():
    assert result_of(SeparateProcess(partial(math.hypot, 3.0, 4.0))) == 5.0
    assert result_of(SeparateProcess(os.getpid)) != os.getpid()
    assert result_of(SeparateProcess(partial(os.getpriority, os.PRIO_PROCESS, 0))) == 19


def test_a_call_that_the_process_cannot_execute_is_executed_here():
    number = os.getpid()
    process = SeparateProcess(partial(operator.truediv, 1, 2))
    process._process.kill()
    assert result_of(process) == 0.5
    assert number == os.getpid()


def test_the_process_ends_with_its_owner():
    process = SeparateProcess(partial(time.sleep, 100.0))
    child = process._process
    assert process() is None
    del process
    gc.collect()
    assert child.wait(10.0) != 0
