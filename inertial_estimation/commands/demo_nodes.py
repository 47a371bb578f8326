"""The nodes of the demo, and the commands that start them in lockstep."""

import json
import sys
from typing import Any

from inertial_estimation.configuration.config_lookup import find_config
from inertial_estimation.configuration.node_options import ARRIVAL

NODES = ("tilt_observer", "inertial_ekf", "whole_body_controller", "simulator")
PARAMETER_FILES = ("talos", "payload_demo")
LOCKSTEP_TIMEOUT_S = 10.0  # for the controller's answer, wall clock: other programs may use the machine


def node_command(node: str, *, adaptation: bool, viewer: bool) -> list[str]:
    """Return the command that starts a node.

    Args:
        node: Name of the node.
        adaptation: Whether the controller uses the estimated inertias.
        viewer: Whether the robot is shown, in real time.
    """
    own: dict[str, dict[str, Any]] = {
        "simulator": {
            "lockstep": True,
            "lockstep_timeout": LOCKSTEP_TIMEOUT_S,
            "real_time_factor": 1.0 if viewer else 0.0,
            "viewer": viewer,
        },
        "whole_body_controller": {"inertias.applied": adaptation},
    }
    files = [word for name in PARAMETER_FILES for word in ("--params-file", str(find_config(name)))]
    call = f"from inertial_estimation.ros.node_runner import {node}; raise SystemExit({node}())"
    values = {**own.get(node, {}), "use_sim_time": node != "simulator"}
    if node != "simulator":
        values["trigger"] = ARRIVAL  # in lockstep every tick would wait for the timers
    given = [f"{node}:{name}:={json.dumps(value)}" for name, value in values.items()]
    options = [word for text in given for word in ("-p", text)]
    return [sys.executable, "-c", call, "--ros-args", *files, *options, "--log-level", "warn"]
