"""Writes the copyright statement of REP-2004 into every source file: ``python docs/licence_headers.py``.

It is the first line, below the one that names the interpreter. With ``--check`` nothing is written, and the
exit code is 1 if a file has none. Run it while no other work is open: it changes the first line of all files.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATEMENT = "# Copyright The inertial_estimation authors. SPDX-License-Identifier: Apache-2.0\n"
SOURCES = ("*.py", ".ci/run", "Dockerfile", "resource/forwarders/*")


def with_statement(text: str) -> str:
    """Return the text of a source file with the statement, unchanged where it has one."""
    lines = text.splitlines(keepends=True)
    place = 1 if lines and lines[0].startswith("#!") else 0
    if STATEMENT in lines[:2] or not text.strip():
        return text
    return "".join([*lines[:place], STATEMENT, *lines[place:]])


def sources(root: Path) -> list[Path]:
    """Return the source files that git knows."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--", *SOURCES]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [root / name for name in listed.split("\0") if name]


def main() -> int:
    """Write or check the statements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say which files have none")
    check = parser.parse_args().check
    lacking = []
    for path in sources(ROOT):
        before = path.read_text(encoding="utf-8")
        after = with_statement(before)
        if after != before:
            lacking.append(path)
            if not check:
                path.write_text(after, encoding="utf-8")
    print(f"{len(lacking)} files {'have no statement' if check else 'written'}")
    return 1 if check and lacking else 0


if __name__ == "__main__":
    sys.exit(main())
