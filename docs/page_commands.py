"""Runs the commands of the pages: ``python docs/page_commands.py [PAGE ...] [--quick] [--output DIR]``.

A block marked ``bash`` holds commands, any other block (``text``) a synopsis or what is printed. The blocks
of a page run one after the other in one folder, in which the folders of the repository are found. A comment
above a block says what is special about it:

    <!-- run: quick -->                    takes a second or two: `--quick`, and the tests, run only these
    <!-- run: no, shows a window -->       is not run, and why
    <!-- run: BAG=$DATASETS/a/bag -->      stands for the reader's own file, from here to the end of the page

Variables that a block sets hold in the blocks below. Blocks that need ROS 2, or recordings (`$DATASETS`) that
are not here, are skipped, and said to be.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATASETS = "INERTIAL_ESTIMATION_DATASETS"
LINKED = ("config", "docs", "benchmarks", "launch", "test", "inertial_estimation")
ROS = re.compile(r"^\s*(ros2|colcon|rosdep|rviz2|source install/)\b", re.MULTILINE)
PIECES = re.compile(
    r"^ *<!-- run: (?P<note>.*?) -->$|^(?P<indent> *)```bash\n(?P<code>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
VARIABLE = re.compile(r"^[A-Z_]+=(?:\"[^\"\n]*\"|\S*)\n", re.MULTILINE)  # not that of one command alone
LONGEST_S = 1800.0
PROGRAMS = {
    "python": 'exec "{python}" "$@"',
    "python3": 'exec "{python}" "$@"',
    "pytest": 'exec "{python}" -m pytest "$@"',
    "inertial-estimation": 'exec "{python}" -m inertial_estimation.commands.main "$@"',
}


@dataclass(frozen=True)
class Block:
    """Commands that stand together in a page.

    Attributes:
        page: Path of the page from the root of the repository.
        line: Line of the page at which the block begins.
        code: The commands, with the reader's own files replaced.
        quick: Whether it takes a second or two.
        reason: Why it is not run; empty where it is.
    """

    page: str
    line: int
    code: str
    quick: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a block ended.

    Attributes:
        page: Path of the page from the root of the repository.
        line: Line of the page at which the block begins.
        result: ``passed``, ``failed`` or ``skipped``.
        seconds: How long it took.
        said: Its last lines, or why it was skipped.
    """

    page: str
    line: int
    result: str
    seconds: float
    said: str


def pages() -> list[Path]:
    """Return the pages whose commands are run."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Read the blocks of a page."""
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    return blocks_in(page.read_text(encoding="utf-8"), name)


def blocks_in(text: str, name: str) -> list[Block]:
    """Find the blocks in the text of a page.

    Raises:
        ValueError: If a comment is none of the three kinds.
    """
    replaced: dict[str, str] = {}
    quick, reason, found = False, "", []
    variables = ""
    for piece in PIECES.finditer(text):
        note, code = piece["note"], piece["code"]
        if code is None:
            if note == "quick":
                quick = True
            elif note.startswith("no, "):
                reason = note.removeprefix("no, ")
            elif "=" in note:
                replaced.update(word.split("=", 1) for word in note.split())
            else:
                raise ValueError(f"{name}: 'run: {note}', expected 'quick', 'no, WHY' or 'NAME=VALUE'")
            continue
        for word, value in replaced.items():
            code = re.sub(rf"(?<![\w./-]){re.escape(word)}(?![\w-]|\.\w)", lambda _, v=value: v, code)
        line = text.count("\n", 0, piece.start()) + 1
        code = re.sub(f"^{piece['indent']}", "", code, flags=re.MULTILINE)
        found.append(Block(name, line, variables + code, quick, reason))
        variables += "".join(VARIABLE.findall(code))
        quick, reason = False, ""
    return found


def why_skipped(block: Block) -> str:
    """Return why a block cannot or shall not be run here; empty if it can."""
    if block.reason:
        return block.reason
    if ROS.search(block.code) and shutil.which("ros2") is None:
        return "needs ROS 2"
    if "$DATASETS" in block.code and not os.environ.get(DATASETS):
        return f"needs the recordings of {DATASETS}"
    return ""


def prepared_folder(folder: Path) -> Path:
    """Make a folder in which the commands of a page find the repository and the programs of this Python."""
    programs = folder / ".programs"
    programs.mkdir(parents=True, exist_ok=True)
    for name, text in PROGRAMS.items():
        program = programs / name
        program.write_text(f"#!/bin/sh\n{text.format(python=sys.executable)}\n", encoding="utf-8")
        program.chmod(0o755)
    for name in LINKED:
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


def run_block(block: Block, folder: Path) -> Outcome:
    """Run a block with bash, which stops at the first command that fails."""
    reason = why_skipped(block)
    if reason:
        return Outcome(block.page, block.line, "skipped", 0.0, reason)
    path = [str(folder / ".programs"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    known = {
        "PATH": os.pathsep.join(path),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "DATASETS": os.environ.get(DATASETS, ""),
    }
    begin = time.monotonic()
    try:
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.code],
            cwd=folder,
            env={**os.environ, **known},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        said, code = ended.stdout + ended.stderr, ended.returncode
    except subprocess.TimeoutExpired:
        said, code = f"not ended after {LONGEST_S:g} s", 1
    last = "\n".join(said.strip().splitlines()[-12:])
    result = "failed" if code else "passed"
    return Outcome(block.page, block.line, result, round(time.monotonic() - begin, 1), last)


def outcomes(chosen: list[Path], folder: Path, *, quick: bool) -> Iterator[Outcome]:
    """Run the blocks of pages, each page in a folder of its own."""
    for page in chosen:
        blocks = [block for block in blocks_of(page) if block.quick or not quick]
        if not blocks:
            continue
        place = prepared_folder(folder / page.stem)
        for block in blocks:
            yield run_block(block, place)


def main() -> int:
    """Run the blocks, print a line for each, and write commands.json; the exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="pages, all if none is given")
    parser.add_argument("--quick", action="store_true", help="only the blocks marked as quick")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "pages", metavar="DIR")
    args = parser.parse_args()
    chosen = [page.resolve() for page in args.pages] or pages()
    found = []
    for outcome in outcomes(chosen, args.output.resolve(), quick=args.quick):
        found.append(outcome)
        said = "" if outcome.result == "passed" else f"  {outcome.said}"
        print(f"{outcome.result:<8}{outcome.seconds:6.1f} s  {outcome.page}:{outcome.line}{said}", flush=True)
    counts = {
        kind: sum(outcome.result == kind for outcome in found) for kind in ("passed", "failed", "skipped")
    }
    args.output.mkdir(parents=True, exist_ok=True)
    (args.output / "commands.json").write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
