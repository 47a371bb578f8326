"""Compiled functions: the same numbers as their Python source, compiled once and kept on disk."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inertial_estimation import compilation
from inertial_estimation.compilation import Column, MutableColumn, compiled, inlined, warm_up

Pair = tuple[float, float]


@inlined
def turned(angle: float, a: Pair) -> Pair:
    return math.cos(angle) * a[0] - math.sin(angle) * a[1], math.sin(angle) * a[0] + math.cos(angle) * a[1]


@compiled
def step(h: float, on: bool, count: int, a: Pair, x: Column, y: MutableColumn) -> tuple[Pair, float]:
    for i in range(count):
        y[i] += h * x[i]
    return turned(h, a), math.exp(h) if on else 0.0


@pytest.fixture
def numba():
    if not compilation.compiling():
        pytest.skip("numba is not installed, or switched off")
    return pytest.importorskip("numba")


def test_a_compiled_function_gives_the_numbers_of_its_source(numba):
    warm_up()
    x = np.array([1.0, 2.0, 3.0])
    x.setflags(write=False)
    y, expected = np.zeros(3), np.zeros(3)
    vector, growth = step(0.3, True, 2, (0.1, -0.7), x, y)
    its_vector, its_growth = step.py_func(0.3, True, 2, (0.1, -0.7), x, expected)
    assert (*vector, growth) == pytest.approx((*its_vector, its_growth), rel=1e-15)
    assert y.tolist() == expected.tolist() == [0.3, 0.6, 0.0]


PROGRAM = """
from inertial_estimation import compilation
from inertial_estimation.compilation import compiled, warm_up

@compiled
def twice(a: float) -> float:
    return 2.0 * a

print(warm_up(), twice(2))
"""


@pytest.fixture
def program(numba, tmp_path):
    """Run a program whose machine code is kept in a folder; return what it prints, and its complaints."""
    source = tmp_path / "program.py"
    source.write_text(PROGRAM)

    def run(folder=tmp_path / "cache"):
        path = f"{Path(compilation.__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": path}
        command = [sys.executable, str(source)]
        ran = subprocess.run(
            command, check=True, timeout=120, env=environment, capture_output=True, text=True
        )
        return ran.stdout.split(), ran.stderr

    return run


def test_functions_are_compiled_once_and_said_so_and_anew_where_their_code_is_damaged(program, tmp_path):
    assert program() == (["1", "4.0"], "compiling 1 functions, once for this machine\n")
    assert program() == (["0", "4.0"], "")
    for path in (tmp_path / "cache").rglob("*.nb?"):
        path.write_bytes(b"no machine code")
    said, complaints = program()
    assert said == ["1", "4.0"]
    assert "machine code" in complaints


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT=1", "not installed"])
def test_without_numba_the_decorators_return_the_function(switch, tmp_path):
    code = (
        "import os, sys\n"
        + ("sys.modules['numba'] = None\n" if switch == "not installed" else "")
        + "from inertial_estimation.compilation import compiled, compiling, inlined, warm_up\n"
        "def f(a: float) -> float: return a\n"
        "assert compiled(f) is f and inlined(f) is f and not compiling()\n"
        "warm_up()\n"
        "assert sys.modules.get('numba') is None, 'nothing has loaded it'\n"
    )
    environment = {**os.environ, **({} if switch[0] == "n" else {"NUMBA_DISABLE_JIT": "1"})}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


def test_a_tilt_pipeline_leaves_nothing_to_compile_at_its_first_step(numba):
    code = """
from inertial_estimation import build_pipelines, compilation, find_config, load_config_file
for observer in ("filter", "two_stage"):
    file = load_config_file(find_config("talos")).overridden([("tilt_observer", "observer", observer)])
    build_pipelines(file, only=["tilt_observer"])
    assert not compilation._waiting
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
