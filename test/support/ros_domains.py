"""ROS domains that no other test on this machine talks on, whichever process or run it belongs to."""

import contextlib
import fcntl
import itertools
import os
import tempfile
from pathlib import Path

DOMAINS = range(1, 51)  # the demo takes 51 to 100; the ports of higher ones may belong to other programs
_counter = itertools.count(13 * os.getpid())  # not the one just left, where a dead node may linger


@contextlib.contextmanager
def claimed_domain():
    """Lock a domain for as long as the context lasts, or the process lives; yield its number."""
    for _ in DOMAINS:
        domain = DOMAINS[next(_counter) % len(DOMAINS)]
        try:
            file = (Path(tempfile.gettempdir()) / f"inertial_estimation_domain_{domain}.lock").open("a")
        except PermissionError:  # another user's
            continue
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield domain
            return
    raise RuntimeError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use by other tests")
