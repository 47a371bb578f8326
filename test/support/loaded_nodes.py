"""Importing this module imports what the nodes need, and loads what they have compiled."""

import contextlib
import gc
import importlib
import os

from inertial_estimation.compilation import warm_up

os.environ.setdefault("MUJOCO_GL", "disable")  # as the entry point of the simulator does
for name in ("tilt_observer", "inertial_ekf", "trunk_payload", "simulator", "whole_body_controller"):
    with contextlib.suppress(ImportError):  # the node says so itself
        importlib.import_module(f"inertial_estimation.ros.{name}_node")
warm_up()
gc.freeze()
