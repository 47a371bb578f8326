"""The pages name what exists, their command lines are accepted, and the README's Python runs as it stands."""

import ast
import contextlib
import io
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path
from string import Template

import pytest
from support.scripts import script

import inertial_estimation
from inertial_estimation.commands.main import COMMANDS, command_parser

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
def test_modules_named_in_a_page_and_files_linked_from_it_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(MODULE.findall(text)) - EXAMPLES
    named = {name.removeprefix("./") for name in named if "NAME" not in name}  # of a list of files to add
    assert not sorted(name for name in named if not exists(name))
    assert not [link for link in LINK.findall(text) if not (page.parent / link).exists()]


def test_every_page_is_in_the_site() -> None:
    toctrees = re.findall(r"```{toctree}\n(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.DOTALL)
    entries = [line for tree in toctrees for line in tree.splitlines() if line and not line.startswith(":")]
    patterns = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
    names = {page.stem for page in PAGES if page.parent == ROOT / "docs"} - {"index"}
    assert not [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)]


def test_every_public_name_is_in_the_page_of_the_api() -> None:
    documented = re.findall(r"^\.\. auto\w+:: (\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(set(inertial_estimation.__all__) - {"__version__"})


README = ROOT / "README.md"


def test_the_library_example_runs_and_prints_verticals(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(README), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 500
    z = float(lines[-1].rstrip("]").split()[-1])
    assert z > 0.9


page_commands = script("docs/page_commands.py")
BLOCKS = [block for page in page_commands.pages() for block in page_commands.blocks_of(page)]
MENTIONED = re.compile(r"inertial-estimation ([a-z]+)((?:[^`\n]|\\\n)*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def lines_of(code: str) -> list[list[str]]:
    """Words of every command line of a block; variables that it sets are replaced."""
    variables, found = {}, []
    for line in re.sub(r"\\\n\s*", " ", code).splitlines():
        words = shlex.split(line, comments=True)
        if len(words) == 1 and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words[0].partition("=")
            variables[name] = value
        elif words:
            found.append(shlex.split(Template(line).safe_substitute(variables), comments=True))
    return found


def fault_of(words: list[str]) -> str:
    """What the command's parser says against a command line; empty where it is accepted."""
    name = words[1] if len(words) > 1 else ""
    if name not in COMMANDS:
        return "" if name in ("", "--help", "--version") else f"no command {name}"
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            command_parser(name).parse_args(words[2:])
    except SystemExit as stop:
        return said.getvalue() if stop.code else ""
    return ""


def test_every_command_line_is_accepted() -> None:
    faults, seen = [], 0
    for block in BLOCKS:
        for words in lines_of(block.code):
            if Path(words[0]).name == "inertial-estimation":
                seen += 1
                said = fault_of(words)
                faults += [f"{block.page}:{block.line}: {shlex.join(words)}: {said}"] if said else []
    assert seen > 25
    assert not faults


@pytest.mark.parametrize("page", page_commands.pages(), ids=lambda page: page.name)
def test_options_named_anywhere_exist(page: Path) -> None:
    faults = []
    for name, rest in MENTIONED.findall(page.read_text(encoding="utf-8")):
        if name in COMMANDS:
            known = {option for action in actions_of(name) for option in action.option_strings}
            faults += [f"{name} {option}" for option in OPTION.findall(rest) if option not in known]
    assert not faults


def actions_of(name: str) -> list:
    """Options of a command and of its subcommands."""
    parser = command_parser(name)
    nested = [action.choices.values() for action in parser._actions if isinstance(action.choices, dict)]
    return [*parser._actions, *(action for group in nested for sub in group for action in sub._actions)]


def test_launch_files_and_their_arguments_exist() -> None:
    faults, seen = [], 0
    for block in BLOCKS:
        for words in lines_of(block.code):
            if words[:3] == ["ros2", "launch", "inertial_estimation"]:
                seen += 1
                given = {word.partition(":=")[0] for word in words[4:] if ":=" in word}
                faults += [f"{block.page}: {words[3]} {name}" for name in given - launch_arguments(words[3])]
    assert seen > 10
    assert not faults


def launch_arguments(file: str) -> set[str]:
    """Texts in a launch file, those it includes and the modules next to it: its arguments are among them."""
    folder = ROOT / "launch"
    texts, read = set(), set()
    left = {file, *(path.name for path in folder.glob("*.py") if not path.name.endswith(".launch.py"))}
    while left:
        name = left.pop()
        read.add(name)
        tree = ast.parse((folder / name).read_text(encoding="utf-8"))
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        texts |= {value for value in constants if isinstance(value, str)}
        left |= {text for text in texts - read if text.endswith(".launch.py")}
    return texts
