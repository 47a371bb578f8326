"""The pages name what exists, and the README's Python runs as it stands there."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

import inertial_estimation

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("inertial_estimation", "test", "benchmarks", "docs", "launch")
SOURCES = [
    path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))
]
MODULE = re.compile(r"(?<![*\w./-])[\w./-]*\w\.py\b")  # but no pattern such as test_*_pipeline.py
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
EXAMPLES = {"imu.launch.py", "my_controller.py", "setup.py"}


def exists(name: str) -> bool:
    """Say whether a source file's path ends with the parts of a name."""
    return any(source == name or source.endswith("/" + name) for source in SOURCES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_named_in_a_page_exist(page: Path) -> None:
    named = set(MODULE.findall(page.read_text(encoding="utf-8"))) - EXAMPLES
    named = {name.removeprefix("./") for name in named if "NAME" not in name}  # of a list of files to add
    assert not sorted(name for name in named if not exists(name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_linked_from_a_page_exist(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_every_page_is_in_the_site() -> None:
    toctrees = re.findall(r"```{toctree}\n(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.DOTALL)
    entries = [line for tree in toctrees for line in tree.splitlines() if line and not line.startswith(":")]
    patterns = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
    names = {page.stem for page in PAGES if page.parent == ROOT / "docs"} - {"index"}
    assert not [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)]


def test_every_public_name_is_in_the_page_of_the_api() -> None:
    documented = re.findall(r"^\.\. auto\w+:: (\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(set(inertial_estimation.__all__) - {"__version__"})


README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_library_example_runs_and_prints_verticals(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(README), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 500
    z = float(lines[-1].rstrip("]").split()[-1])
    assert z > 0.9
