"""Execution of one node as a process: arguments, signals, exit codes.

The exit code is 0 after SIGINT or SIGTERM, and 2 with one line on stderr for an error in the configuration.
The module imports no large package, so that the entry points handle signals before they import the node.
"""

import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from inertial_estimation.errors import InertialEstimationError, one_line

SIGNALS = (signal.SIGINT, signal.SIGTERM)
COLLECTION_PERIOD = 1.0  # period of garbage collections [s]
SERVING_PERIOD = 0.01  # period at which a polled node serves its services, timers and reports [s]
MANY_NEW = 5_000  # number of new objects since the last collection that shows a late import
MISSING = {"pinocchio": "standalone", "mujoco": "sim", "proxsuite": "sim"}  # extra of a package; else ROS
HELP = """usage: {name} --ros-args --params-file FILE [-p NAME:=VALUE] [-r TOPIC:=OTHER]

A ROS 2 node of inertial_estimation. Topics, services and parameters: docs/nodes.md.

A parameter that FILE sets in a section of the node wins over -p NAME:=VALUE. Behind the file,
-p {name}:NAME:=VALUE replaces it (in the root namespace; in another one, a later --params-file
with a section '/NAMESPACE/{name}')."""

_started = threading.Event()


def _end_at_once(_number: int, _frame: FrameType | None) -> None:
    """End a node that is starting: no resource is open yet, and an import might convert an exception.

    Later it does nothing: rclpy's own handlers shut its context down, and then call the previous handlers.
    """
    if not _started.is_set():
        os._exit(0)


def _run_class(module: str, name: str) -> int:
    """Run a node class of a module of `ros`; the entry points of the executables call this function."""
    for number in SIGNALS:
        signal.signal(number, _end_at_once)
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(HELP.format(name=sys.argv[0].rsplit("/", 1)[-1]))
        return 0
    # The matrices of a step are small: threads of linear algebra cost more than they save, ten times as much
    # on a busy machine. The variable is read when numpy is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Without this, MuJoCo would import glfw, which starts another process.
    os.environ.setdefault("MUJOCO_GL", "disable")
    try:
        return run_node(getattr(importlib.import_module(f"inertial_estimation.ros.{module}"), name))
    except ModuleNotFoundError as error:
        package, extra = str(error.name), MISSING.get(str(error.name))
        ros = "rclpy or the ROS messages: source a ROS 2 installation, or "
        needed = f"{'' if extra else ros}pip install 'inertial_estimation[{extra or 'standalone'}]'"
        return _fail(f"the node needs {package}, which is not importable ({error}): {needed}")


tilt_observer = partial(_run_class, "tilt_observer_node", "TiltObserverNode")
inertial_ekf = partial(_run_class, "inertial_ekf_node", "InertialEkfNode")
trunk_payload = partial(_run_class, "trunk_payload_node", "TrunkPayloadNode")
simulator = partial(_run_class, "simulator_node", "SimulatorNode")
whole_body_controller = partial(_run_class, "whole_body_controller_node", "WholeBodyControllerNode")


def run_node(build: Callable[[], Any], arguments: Sequence[str] | None = None) -> int:
    """Build a node and spin it until a signal; return the exit code of the process.

    The arguments are those of the command line; None takes the process's own.
    """
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from rclpy.signals import SignalHandlerOptions

    from inertial_estimation.compilation import warm_up

    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.ALL)
    except Exception as error:  # rcl raises several types for a bad command line or parameter file
        return _fail(str(error))
    # Compiling takes minutes without a cache on disk; before the node exists, a signal ends it at once.
    warm_up()
    _started.set()
    try:
        spin(build())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except InertialEstimationError as error:
        return _fail(str(error))
    except Exception as error:
        if rclpy.ok() and type(error).__name__ == "RCLError":
            text = "a topic or service cannot be created (remapped onto another of the node?)"
            return _fail(f"{text}: {one_line(error)}")
        if rclpy.ok():
            raise
        # otherwise a signal has shut the context down during a callback
    finally:
        for number in SIGNALS:  # a second signal must not interrupt the shutdown
            signal.signal(number, signal.SIG_IGN)
        with suppress(RuntimeError):  # rclpy's RCLError: shut down by its handler after the check
            rclpy.try_shutdown()
        gc.unfreeze()  # frozen objects are not freed at exit, and ProxSuite would report them as leaked
    return 0


def spin(node: Any) -> None:
    """Spin a node until a signal; a polled node reads its inputs itself, and serves the rest every 10 ms.

    A wait of the executor costs as much as a step of an estimator, and it waits twice for each callback.

    Python's automatic garbage collection interrupts a node whenever enough objects have been created, for up
    to tens of milliseconds once a model is loaded. Here it runs once per second, between rounds of reading.
    Objects that live as long as the process are excluded (`gc.freeze`), and so are the survivors of a
    collection with many new objects.
    """
    from rclpy.executors import SingleThreadedExecutor

    executor = SingleThreadedExecutor()
    executor.add_node(node)
    gc.collect()
    gc.freeze()
    gc.disable()
    poll: Callable[[], float | None] = getattr(node, "poll", lambda: None)
    due_s = served_s = 0.0
    collected_s = time.monotonic()
    while node.context.ok():
        period_s, now_s = poll(), time.monotonic()
        if period_s is None:
            executor.spin_once()
        elif now_s >= served_s:
            executor.spin_once(timeout_sec=0.0)
            served_s = now_s + SERVING_PERIOD
        if now_s >= collected_s + COLLECTION_PERIOD:
            collected_s, many = now_s, gc.get_count()[0] > MANY_NEW
            gc.collect()
            if many:
                gc.freeze()
        if period_s is not None:
            due_s = max(due_s + period_s, now_s)
            time.sleep(max(due_s - time.monotonic(), 0.0))


def _fail(message: str) -> int:
    """Print an error; return the exit code of a node that cannot start, at which launch files end."""
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2
