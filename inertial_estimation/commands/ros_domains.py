"""ROS domains that no other run on this machine talks on: demo, benchmarks, tests and `.ci/run` claim theirs.

``python -m inertial_estimation.commands.ros_domains COMMAND ...`` runs a command on one. A claim is a lock on
a file, which ends with the process at the latest, also by SIGKILL. Needs nothing but Python.
"""

import contextlib
import fcntl
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from inertial_estimation.errors import InertialEstimationError

DOMAINS = range(1, 101)  # 0 is everybody's; the ports of higher ones may belong to other programs
_counter = itertools.count(13 * os.getpid())  # not the one just left, where a dead node may linger
_kept: list[IO[str]] = []  # locks of this process, until it ends


@contextlib.contextmanager
def claimed_domain(domains: Sequence[int] = DOMAINS) -> Iterator[int]:
    """Claim one of some domains for as long as the context lasts, or the process lives; yields its number.

    Raises:
        InertialEstimationError: If all of them are in use.
    """
    file, domain = _lock(domains)
    with file:
        yield domain


def talk_apart() -> int:
    """Let this process and those it starts talk on a domain of their own, and on this machine only.

    Where ``ROS_DOMAIN_ID`` is set it is used as it is; else a domain is claimed until the process ends, and
    the variable set. Returns the number of the domain.

    Raises:
        InertialEstimationError: If all domains are in use.
    """
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    if not os.environ.get("ROS_DOMAIN_ID"):
        file, domain = _lock(DOMAINS)
        _kept.append(file)
        os.environ["ROS_DOMAIN_ID"] = str(domain)
    return int(os.environ["ROS_DOMAIN_ID"])


def _lock(domains: Sequence[int]) -> tuple[IO[str], int]:
    for _ in domains:
        domain = domains[next(_counter) % len(domains)]
        with contextlib.suppress(PermissionError):  # another user's
            file = (Path(tempfile.gettempdir()) / f"inertial_estimation_domain_{domain}.lock").open("a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file, domain
            except BlockingIOError:
                file.close()
    raise InertialEstimationError(f"all ROS domains from {domains[0]} to {domains[-1]} are in use")


if __name__ == "__main__":
    talk_apart()
    for lock in _kept:
        os.set_inheritable(lock.fileno(), True)  # the command keeps it, and what it leaves behind
    os.execvp(sys.argv[1], sys.argv[1:])
