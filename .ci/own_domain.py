"""Runs a command on its own ROS domain, on this machine only: ``python .ci/own_domain.py COMMAND ...``."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from inertial_estimation.commands.ros_domains import lock_domain

file, domain = lock_domain()
os.set_inheritable(file.fileno(), True)  # the command and its children keep the lock
os.environ |= {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": str(domain)}
os.execvp(sys.argv[1], sys.argv[1:])
