"""The README's Python runs as it stands there."""

import re
from pathlib import Path

import pytest

pytest.importorskip("example_robot_data")
README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_library_example_runs_and_prints_verticals(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, str(README), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 500
    z = float(lines[-1].rstrip("]").split()[-1])
    assert z > 0.9
