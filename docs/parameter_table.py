"""Writes the lists of parameters of the node pages: `python docs/parameter_table.py` after a change."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from inertial_estimation.configuration.node_configs import NODE_CONFIGS
from inertial_estimation.parameters import ParameterSpec, iterate_parameters

FOLDER = Path(__file__).parent
MARK = "<!-- parameters: written by docs/parameter_table.py -->\n"
INDEX = "nodes.md"  # has what several nodes share
PAGES = {title: f"node_{title}.md" for title in NODE_CONFIGS if title != "identification"}
PAGES["identification"] = "identify_command.md"
SENTENCE_END = re.compile(r"(?<=[\w)'\"`\]])(?:\. (?=[A-Z0-9-])|; )")
SPECIAL = re.compile(r"(empty|none|negative|zero|0|-1)\b", re.IGNORECASE)  # begins what a special value means


def lists() -> dict[str, str]:
    """Return the text below the mark for every page."""
    users: dict[ParameterSpec, list[str]] = {}
    for title, classes in NODE_CONFIGS.items():
        for cls in classes:
            for spec in iterate_parameters(cls):
                users.setdefault(spec, []).append(title)
    texts = {page: bullets(own(users, title)) for title, page in PAGES.items()}
    shared = {tuple(titles): None for titles in users.values() if len(titles) > 1}
    texts[INDEX] = "\n".join(
        f"### {', '.join(titles)}\n\n"
        + bullets([spec for spec, other in users.items() if tuple(other) == titles])
        for titles in shared
    )
    return texts


def own(users: dict[ParameterSpec, list[str]], title: str) -> list[ParameterSpec]:
    """Return the parameters that one node alone has."""
    return [spec for spec, titles in users.items() if titles == [title]]


def bullets(specs: Sequence[ParameterSpec]) -> str:
    """Return a list of parameters, one a line."""
    return "".join(f"- {line(spec)}\n" for spec in specs)


def line(spec: ParameterSpec) -> str:
    """Return name, default with unit, the first sentence of the description, and what special values mean."""
    default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
    value = f"`{default!r}`" + (f" {spec.unit}" if spec.unit else "")
    if spec.choices and isinstance(spec.default, str):
        value += f" of {', '.join(spec.choices)}"
    first, *others = SENTENCE_END.split(spec.description.rstrip("."))
    special = [other[0].upper() + other[1:] for other in others if SPECIAL.match(other)]
    meaning = ". ".join([first, *special])
    return f"`{spec.name}`{'*' if spec.runtime else ''} ({value}): {meaning}."


def main() -> int:
    """Write the lists below the mark of each page."""
    for name, text in lists().items():
        page = FOLDER / name
        before, _, _ = page.read_text(encoding="utf-8").partition(MARK)
        page.write_text(before + MARK + "\n" + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
