"""The controller needs the extra `sim`; without it its tests are left out."""

import importlib.util

NEEDED = ("proxsuite", "mujoco", "example_robot_data")
collect_ignore_glob = [] if all(importlib.util.find_spec(name) for name in NEEDED) else ["test_*.py"]
