import contextlib
import os
import subprocess
import sys

import pytest

from inertial_estimation.commands import ros_domains
from inertial_estimation.commands.ros_domains import DOMAINS, claimed_domain, given_domain, talk_apart
from inertial_estimation.errors import ConfigurationError, InertialEstimationError


def test_what_is_claimed_nobody_else_gets():
    """Neither this process nor another, which has no other domain to choose from."""
    with contextlib.ExitStack() as stack:
        claimed = [stack.enter_context(claimed_domain()) for _ in range(3)]
        assert len(set(claimed)) == 3
        assert set(claimed) <= set(DOMAINS)
        taken = claimed[0]
        code = (
            "from inertial_estimation.commands.ros_domains import claimed_domain\n"
            f"with claimed_domain(range({taken}, {taken + 1})) as domain: print(domain)"
        )
        other = other_process("-c", code)
        assert other.returncode != 0
        assert f"from {taken} to {taken} are in use" in other.stderr
        with (
            pytest.raises(InertialEstimationError, match="are in use"),
            claimed_domain(range(taken, taken + 1)),
        ):
            pass
    assert other_process("-c", code).stdout.strip() == str(taken), "free again"


def test_a_process_talks_apart_until_it_ends_unless_it_is_told_where(monkeypatch):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    monkeypatch.setenv("ROS_DOMAIN_ID", "73")
    assert talk_apart() == 73
    assert not ros_domains._kept, "nothing is locked: other processes are to talk there, too"
    monkeypatch.delenv("ROS_DOMAIN_ID")
    monkeypatch.setattr(ros_domains, "_kept", [])
    domain = talk_apart()
    assert talk_apart() == domain
    assert os.environ["ROS_DOMAIN_ID"] == str(domain)
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    with pytest.raises(InertialEstimationError), claimed_domain(range(domain, domain + 1)):
        pass
    ros_domains._kept.pop().close()


@pytest.mark.parametrize("text", ["house", "-1", "233", "1.5"])
def test_a_domain_that_is_none_is_refused(monkeypatch, text):
    monkeypatch.setenv("ROS_DOMAIN_ID", text)
    with pytest.raises(ConfigurationError, match=f"ROS_DOMAIN_ID is '{text}', expected"):
        given_domain()


def test_a_command_runs_on_a_domain_that_it_keeps_to_its_end(monkeypatch):
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    claim = "inertial_estimation.commands.ros_domains"
    code = (
        f"import os; from {claim} import claimed_domain; domain = int(os.environ['ROS_DOMAIN_ID'])\n"
        "try:\n"
        "    with claimed_domain(range(domain, domain + 1)): pass\n"
        "except Exception as error: print(error)"
    )
    ran = other_process("-m", claim, sys.executable, "-c", code)
    assert "are in use" in ran.stdout, ran.stderr


def other_process(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
