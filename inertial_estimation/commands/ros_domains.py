"""ROS domains that no other run on this machine uses: demo, benchmarks, tests and `.ci/run` claim their own.

``python -m inertial_estimation.commands.ros_domains COMMAND ...`` runs a command on such a domain. A claim is
a lock on a file, which the end of the process releases, also after SIGKILL. Only Python is needed.
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

DOMAINS = range(1, 101)  # 0 is the default domain; ports of higher ones may be in use by other programs
_counter = itertools.count(13 * os.getpid())  # avoids the domain used last, on which a dead node may linger
_kept: list[IO[str]] = []  # locks that this process holds until it ends


@contextlib.contextmanager
def claimed_domain(domains: Sequence[int] = DOMAINS) -> Iterator[int]:
    """Claim one of some domains until the context or the process ends; yield its number.

    Raises:
        InertialEstimationError: If all of them are in use.
    """
    file, domain = _lock(domains)
    with file:
        yield domain


def use_own_domain() -> int:
    """Let this process and its children communicate on their own ROS domain, and on this machine only.

    If ``ROS_DOMAIN_ID`` is set, that domain is used. Otherwise a domain is claimed until the process ends,
    and the variable is set. Returns the number of the domain.

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
        with contextlib.suppress(PermissionError):  # the file belongs to another user
            file = (Path(tempfile.gettempdir()) / f"inertial_estimation_domain_{domain}.lock").open("a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file, domain
            except BlockingIOError:
                file.close()
    raise InertialEstimationError(f"all ROS domains from {domains[0]} to {domains[-1]} are in use")


if __name__ == "__main__":
    use_own_domain()
    for lock in _kept:
        os.set_inheritable(lock.fileno(), True)  # the command and its children keep the lock
    os.execvp(sys.argv[1], sys.argv[1:])
