"""What differs between two URDFs of one robot, in words."""

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from inertial_estimation.errors import listing
from inertial_estimation.models.urdf_check import check_urdf

_SHOWN = 3


def urdf_changes(before: str, after: str) -> str:
    """Return what differs in kinematics and inertias, empty if nothing does.

    Shapes, colours, comments and the way numbers are written make no difference.

    Args:
        before: A URDF that `check_urdf` accepts.
        after: Another one.
    """
    found: list[str] = []
    old, new = check_urdf(before), check_urdf(after)
    for tag in ("link", "joint"):
        of_old, of_new = ({e.get("name", ""): _values(e) for e in root.findall(tag)} for root in (old, new))
        found += _renamed(tag, of_old, of_new)
        for name in [name for name in of_old if name in of_new]:
            found += sorted(_different(f"{tag} '{name}'", of_old[name], of_new[name]))
    return listing(found, limit=_SHOWN) if found else ""


def _renamed(tag: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for said, names in (
        ("new", sorted(new.keys() - old.keys())),
        ("no longer there", sorted(old.keys() - new.keys())),
    ):
        if names:
            yield f"{said}: {tag}s {listing(names, limit=_SHOWN)}"


def _different(where: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in old.keys() | new.keys():
        before, after = old.get(name, "none"), new.get(name, "none")
        if before != after:
            yield f"{where} {name} {before} -> {after}"


def _values(element: Element) -> dict[str, str]:
    """Return the attributes that matter to dynamics, numbers in one form."""
    found = {"type": element.get("type", "")}
    places = {"": element} if element.tag == "joint" else {"inertial ": element.find("inertial")}
    for prefix, place in places.items():
        for tag in ("origin", "mass", "inertia", "parent", "child", "axis", "limit"):
            child = place.find(tag) if place is not None else None
            for name, text in child.items() if child is not None else ():
                found[f"{prefix}{tag} {name}"] = _normal(text)
    return found


def _normal(text: str) -> str:
    try:
        return " ".join(f"{float(word) + 0.0:.12g}" for word in text.split())
    except ValueError:
        return text
