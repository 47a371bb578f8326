"""Descriptions as vendors ship them: `init` has to read them and to find legs, feet and measured joints."""

from pathlib import Path
from typing import Any

import yaml

from benchmarks.referee.commands import ran
from benchmarks.referee.ordinary import Cases
from benchmarks.referee.robots import LIMIT, Urdf, X, Y, Z, humanoid

case = Cases()


def initialised(urdf: Urdf | str, folder: Path) -> dict[str, Any] | str:
    """Return the parameters that `init` writes for all nodes, or its output if it writes none."""
    source, file = folder / "robot.urdf", folder / "robot.yaml"
    source.write_text(urdf if isinstance(urdf, str) else urdf.text(), encoding="utf-8")
    code, output = ran("init", source, "--output", file, "--no-trial")
    if code or not file.exists():
        return output.strip()[-150:] or f"ended with {code}"
    shared: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"]
    return shared


def legged(urdf: Urdf | str, folder: Path, *, contacts: int = 2, unlocked: tuple[str, ...] = ()) -> str:
    """Return the problem with the contacts and locked joints of a legged robot, empty if there is none."""
    found = initialised(urdf, folder)
    if isinstance(found, str):
        return found
    if len(found.get("contacts", ())) != contacts:
        return f"contacts {found.get('contacts')}, expected {contacts}"
    locked = [name for name in found.get("locked_joints", ()) if name in unlocked]
    return f"locked: {locked}" if locked else ""


@case("description: a plain humanoid")
def plain(folder: Path) -> str:
    """No unusual names or structure."""
    return legged(humanoid(), folder)


@case("description: joints named like links (NAO)")
def like_links(folder: Path) -> str:
    """Links and joints have separate name spaces; a finger is to be locked."""
    urdf = humanoid(joint_name="{side}_{part}", link_name="{side}_{part}")
    for side in ("left", "right"):
        urdf.link(f"{side}_hand_finger", 0.05, (0.02, 0.02, 0.05))
        urdf.joint(f"{side}_hand_finger", "pelvis", f"{side}_hand_finger", (0.0, 0.3, 0.0), Y)
    return legged(urdf, folder)


@case("description: legs behind a waist joint (Booster T1)")
def behind_a_waist(folder: Path) -> str:
    """The root is the trunk, and both legs are attached to a waist joint."""
    urdf = humanoid(base="hips")
    urdf.link("trunk", 12.0, (0.2, 0.3, 0.4))
    urdf.joint("waist", "trunk", "hips", (0.0, 0.0, -0.4), Z)
    return legged(urdf, folder)


@case("description: links named rotor and stator (Upkie)")
def rotors(folder: Path) -> str:
    """Hip and knee are measured; only the wheels are continuous."""
    urdf = Urdf()
    urdf.link("base", 3.0, (0.15, 0.2, 0.2))
    urdf.link("imu")
    urdf.joint("imu_fixed", "base", "imu")
    for side, y in (("left", 0.12), ("right", -0.12)):
        parent, at = "base", (0.0, y, -0.2)
        for part, length in (("hip", 0.15), ("knee", 0.15)):
            urdf.link(f"{side}_{part}_qdd100_rotor", 0.6, (0.05, 0.05, length))
            urdf.joint(f"{side}_{part}", parent, f"{side}_{part}_qdd100_rotor", at, Y)
            parent, at = f"{side}_{part}_qdd100_rotor", (0.0, 0.0, -length)
        urdf.link(f"{side}_wheel_tire", 0.3, (0.1, 0.03, 0.1))
        endless = 'lower="-1e9" upper="1e9" effort="2" velocity="100"'
        urdf.joint(f"{side}_wheel", parent, f"{side}_wheel_tire", at, Y, endless)
    found = initialised(urdf, folder)
    if isinstance(found, str):
        return found
    locked = set(found.get("locked_joints", ()))
    wrong = locked & {f"{side}_{part}" for side in ("left", "right") for part in ("hip", "knee")}
    return f"locked: {sorted(wrong)}" if wrong else ""


@case("description: several frames on each foot, not in mirrored order (CogIMon)")
def many_frames(folder: Path) -> str:
    """Corner frames lie equally low, in the same order on both feet."""
    urdf = humanoid()
    for side in ("left", "right"):
        corners = [(f"{side}_foot_upper_left", 0.1, 0.05), (f"{side}_foot_upper_right", 0.1, -0.05)]
        corners += [(f"{side}_foot_lower_left", -0.1, 0.05), (f"{side}_foot_lower_right", -0.1, -0.05)]
        for name, x, y in corners:
            urdf.link(name)
            urdf.joint(f"{name}_fixed", f"{side}_foot", name, (x, y, -0.05))
    return legged(urdf, folder)


@case("description: a rod beside the foot (Cassie)")
def rod(folder: Path) -> str:
    """A closed chain is cut: a light rod without motor ends beside the foot, whose joints remain unlocked."""
    urdf = humanoid()
    for side in ("left", "right"):
        urdf.link(f"{side}_achilles_rod", 0.1, (0.02, 0.02, 0.3))
        free = 'lower="-2" upper="2" effort="0" velocity="0"'
        urdf.joint(
            f"{side}_achilles_spring", f"{side}_knee_link", f"{side}_achilles_rod", (-0.05, 0, 0), Y, free
        )
    feet = tuple(f"{side}_{part}_joint" for side in ("left", "right") for part in ("ankle", "ankle_roll"))
    return legged(urdf, folder, unlocked=feet)


@case("description: limits of -Inf and Inf, no effort (Kinova's exporter)")
def infinite_limits(folder: Path) -> str:
    """An infinite limit counts as no limit."""
    urdf, parent, at = Urdf(), "root", (0.0, 0.0, 0.0)
    urdf.link("root")
    for i in range(1, 5):
        urdf.link(f"link_{i}", 1.0, (0.06, 0.06, 0.2))
        limit = 'lower="-Inf" upper="Inf" effort="0" velocity="0"' if i == 1 else LIMIT
        urdf.joint(f"joint_{i}", parent, f"link_{i}", at, (Z, Y, X, Y)[i - 1], limit)
        parent, at = f"link_{i}", (0.0, 0.0, 0.2)
    found = initialised(urdf, folder)
    return found if isinstance(found, str) else ""


@case("description: a floating joint at the root")
def floating_root(folder: Path) -> str:
    """Some descriptions contain the free motion of the base."""
    urdf = humanoid()
    urdf.link("world")
    urdf.joint("free", "world", "pelvis")
    urdf.parts[-1] = urdf.parts[-1].replace('type="fixed"', 'type="floating"')
    return legged(urdf, folder)
