import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ros_domains
from support.ros_domains import DOMAINS, claimed_domain


def test_what_is_claimed_nobody_else_gets(monkeypatch):
    """Neither this process nor another, which has no other domain to choose from."""
    with contextlib.ExitStack() as stack:
        claimed = [stack.enter_context(claimed_domain()) for _ in range(3)]
        assert len(set(claimed)) == 3
        assert set(claimed) <= set(DOMAINS)
        taken = claimed[0]
        code = (
            f"import ros_domains\nros_domains.DOMAINS = range({taken}, {taken + 1})\n"
            "with ros_domains.claimed_domain() as domain: print(domain)"
        )
        other = other_process(code)
        assert other.returncode != 0
        assert f"from {taken} to {taken} are in use" in other.stderr
        monkeypatch.setattr(ros_domains, "DOMAINS", range(taken, taken + 1))
        with pytest.raises(RuntimeError, match="are in use by other tests"), claimed_domain():
            pass
    assert other_process(code).stdout.strip() == str(taken), "free again"


def other_process(code):
    environment = {**os.environ, "PYTHONPATH": str(Path(ros_domains.__file__).parent)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
