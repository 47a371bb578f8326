import contextlib
import os
import subprocess
import sys

import pytest

from inertial_estimation.commands import ros_domains
from inertial_estimation.commands.ros_domains import DOMAINS, claimed_domain, talk_apart
from inertial_estimation.errors import InertialEstimationError

MODULE = "inertial_estimation.commands.ros_domains"


def test_what_is_claimed_nobody_else_gets():
    """Neither this process nor another, which has no other domain to choose from."""
    with contextlib.ExitStack() as stack:
        claimed = [stack.enter_context(claimed_domain()) for _ in range(3)]
        assert len(set(claimed)) == 3
        assert set(claimed) <= set(DOMAINS)
        taken = claimed[0]
        code = (
            f"from {MODULE} import claimed_domain\n"
            f"with claimed_domain(range({taken}, {taken + 1})) as domain: print(domain)"
        )
        assert f"from {taken} to {taken} are in use" in other_process("-c", code).stderr
        with pytest.raises(InertialEstimationError), claimed_domain(range(taken, taken + 1)):
            pass
    assert other_process("-c", code).stdout.strip() == str(taken), "free again"


def test_a_process_talks_apart_until_it_ends_unless_a_domain_is_given(monkeypatch):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    monkeypatch.setattr(ros_domains, "_kept", [])
    monkeypatch.setenv("ROS_DOMAIN_ID", "73")
    assert talk_apart() == 73
    assert not ros_domains._kept, "nothing is locked: other processes are to talk there, too"
    monkeypatch.delenv("ROS_DOMAIN_ID")
    domain = talk_apart()
    assert talk_apart() == domain
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    with pytest.raises(InertialEstimationError), claimed_domain(range(domain, domain + 1)):
        pass
    ros_domains._kept.pop().close()


def test_a_command_runs_on_a_domain_that_it_keeps_to_its_end(monkeypatch):
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    code = (
        f"import os; from {MODULE} import claimed_domain; domain = int(os.environ['ROS_DOMAIN_ID'])\n"
        "try:\n"
        "    with claimed_domain(range(domain, domain + 1)): pass\n"
        "except Exception as error: print(error)"
    )
    ran = other_process("-m", MODULE, sys.executable, "-c", code)
    assert "are in use" in ran.stdout, ran.stderr


def other_process(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
