"""What a description says against itself: one wrong number in an arm that is right is named, nothing else."""

import numpy as np
import pytest

from inertial_estimation.diagnosis.description import description_warnings
from inertial_estimation.models.robot_model import RobotModel

LINKS, LENGTH, MASS, EFFORT = 6, 0.3, 3.0, 80.0


def arm(link: int = 0, *, mass: float = MASS, moment: float = 0.03, effort: float = EFFORT) -> str:
    """An arm of 18 kg about z, y, y, ..., the numbers of one link its own."""
    parts = ['<link name="base"/>']
    for i in range(1, LINKS + 1):
        m, moments, limit = (mass, moment, effort) if i == link else (MASS, 0.03, EFFORT)
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="0 0 {0.5 * LENGTH}"/><mass value="{m}"/><inertia '
            f'ixx="{moments}" iyy="{moments}" izz="{moments}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{i}" type="revolute"><parent link="{f"link{i - 1}" if i > 1 else "base"}"/>'
            f'<child link="link{i}"/><origin xyz="0 0 {LENGTH if i > 1 else 0}"/>'
            f'<axis xyz="{"0 1 0" if i > 1 else "0 0 1"}"/>'
            f'<limit lower="-2" upper="2" effort="{limit}" velocity="3"/></joint>'
        )
    return f'<robot name="arm">{"".join(parts)}</robot>'


def doubts(urdf: str, *, floating: bool = False) -> list[str]:
    return description_warnings(RobotModel.from_urdf(urdf, floating_base=floating), np.random.default_rng(0))


@pytest.mark.parametrize("floating", [False, True])
def test_nothing_is_said_of_a_plausible_robot(floating: bool) -> None:
    assert not doubts(arm(), floating=floating)


@pytest.mark.parametrize(
    ("urdf", "kind", "name"),
    [
        (arm(5, mass=42.9, effort=800.0), "heavier than all others", "link5"),
        (arm(3, moment=30.0), "too large for the body", "link3"),
        (arm(3, moment=3e-6), "denser than any metal", "link3"),
        (arm(2, effort=8.0), "effort limits", "joint2"),
    ],
)
def test_one_wrong_number_is_named(urdf: str, kind: str, name: str) -> None:
    said = doubts(urdf)
    assert any(kind in line and f"'{name}'" in line for line in said)
    assert len([line for line in said if "effort limits" not in line]) == ("effort" not in kind)
