"""ROS domains that no other run on this machine uses: demo, benchmarks, tests and `.ci/run` claim their own.

A claim is a lock on a file, which the end of the process releases, also after SIGKILL. Only Python is needed.
"""

import contextlib
import fcntl
import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from inertial_estimation.errors import InertialEstimationError

DOMAINS = range(1, 101)  # 0 is the default domain; ports of higher ones may be in use by other programs
_counter = itertools.count(13 * os.getpid())  # avoids the domain used last, on which a dead node may linger


@contextlib.contextmanager
def claimed_domain(domains: Sequence[int] = DOMAINS) -> Iterator[int]:
    """Claim one of some domains until the context or the process ends; yield its number.

    Raises:
        InertialEstimationError: If all of them are in use.
    """
    file, domain = lock_domain(domains)
    with file:
        yield domain


def lock_domain(domains: Sequence[int] = DOMAINS) -> tuple[IO[str], int]:
    """Return the locked file of a domain, and its number; as `claimed_domain`, until the file is closed."""
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
