"""Compiled functions: the same numbers as their Python source, compiled once and kept on disk."""

import fcntl
import math
import os
import runpy
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


def test_a_call_converts_integers_and_compiles_nothing(numba):
    warm_up()
    y = np.zeros(3)
    (a, b), growth = step(0, True, 3, (1, 0), np.ones(3), y)
    assert (a, b, growth) == (1.0, 0.0, 1.0)
    assert isinstance(a, float)
    assert len(step.signatures) == 1
    with pytest.raises(TypeError, match="No matching definition"):
        step("0", True, 3, (1, 0), np.ones(3), y)


def test_arguments_that_cannot_be_compiled_are_named(numba, monkeypatch):
    def of_text(name: str) -> int:
        return len(name)

    monkeypatch.setattr(compilation, "_waiting", [])
    compiled(of_text)
    with pytest.raises(TypeError, match=r"of_text' cannot be compiled for .*str"):
        warm_up()


def test_machine_code_is_kept_where_numba_is_told(numba, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = compilation._folder.__wrapped__()
    assert folder.parent == tmp_path / "inertial_estimation"
    assert folder.is_dir()


FUNCTIONS = """
from inertial_estimation.compilation import compiled
@compiled
def doubled(a: float) -> float:
    return 2.0 * a
@compiled
def tripled(a: float) -> float:
    return a + doubled(a)
"""


class Program:
    """Two functions, in a place of their own, and machine code in a folder."""

    def __init__(self, monkeypatch, place, folder):
        monkeypatch.setattr(compilation, "_folder", lambda: folder)
        monkeypatch.setattr(compilation, "_waiting", [])
        self._file = place / "functions.py"
        self._file.parent.mkdir(parents=True)
        self._file.write_text(FUNCTIONS)

    def start(self):
        """Start anew; return how many functions were compiled."""
        compilation._tell.cache_clear()
        defined = runpy.run_path(str(self._file))
        made = warm_up()
        assert (defined["doubled"](1.5), defined["tripled"](1.5)) == (3.0, 4.5)
        assert len(defined["tripled"].signatures) == 1
        return made


@pytest.fixture
def program(numba, monkeypatch, tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    return Program(monkeypatch, tmp_path / "place", folder)


def kept(tmp_path):
    return sorted((tmp_path / "kept").iterdir())


def test_what_is_not_on_disk_is_told_once_and_counted(program, capsys):
    assert program.start() == 2
    assert capsys.readouterr().err.startswith("compiling 2 function(s); ")
    assert program.start() == 0
    assert capsys.readouterr().err == ""


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0x10]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damaged",
    [lambda content: content[: len(content) // 2], lambda _: b"", flipped],
    ids=["cut", "empty", "flip"],
)
def test_damaged_machine_code_is_compiled_anew_and_replaced(program, tmp_path, capsys, damaged):
    assert program.start() == 2
    for file in kept(tmp_path):
        file.write_bytes(damaged(file.read_bytes()))
    capsys.readouterr()
    assert program.start() == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert "is compiled anew: it is damaged" in told[0]
    assert program.start() == 0


def test_machine_code_that_may_not_be_read_is_replaced(program, tmp_path, monkeypatch, capsys):
    program.start()
    with monkeypatch.context() as patch:
        patch.setattr(
            Path, "read_bytes", refused(Path.read_bytes, tmp_path / "kept", PermissionError(13, "denied"))
        )
        assert program.start() == 2
    assert "is compiled anew: denied" in capsys.readouterr().err
    assert program.start() == 0


def refused(method, folder, error):
    def call(path, *arguments):
        if path.parent == folder:
            raise error
        return method(path, *arguments)

    return call


@pytest.mark.parametrize("reason", ["No space left on device", "Read-only file system"])
def test_what_cannot_be_written_is_used_all_the_same(program, tmp_path, monkeypatch, capsys, reason):
    monkeypatch.setattr(Path, "write_bytes", refused(Path.write_bytes, tmp_path / "kept", OSError(0, reason)))
    assert program.start() == 2
    assert f"machine code cannot be kept in {tmp_path / 'kept'}: {reason}" in capsys.readouterr().err
    assert kept(tmp_path) == []


def test_a_disk_that_fills_leaves_nothing_half_written(program, tmp_path, monkeypatch):
    def write_half(path, content):
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    assert program.start() == 2
    assert kept(tmp_path) == []


def test_machine_code_of_another_place_and_user_is_used(program, tmp_path, monkeypatch, capsys):
    program.start()
    (tmp_path / "kept").chmod(0o555)
    denied = PermissionError(13, "denied")  # of root, who may run the tests, the rights above are not enough
    monkeypatch.setattr(Path, "write_bytes", refused(Path.write_bytes, tmp_path / "kept", denied))
    capsys.readouterr()
    assert Program(monkeypatch, tmp_path / "elsewhere" / "deeper", tmp_path / "kept").start() == 0
    assert capsys.readouterr().err == ""
    (tmp_path / "kept").chmod(0o755)


def test_a_source_that_has_changed_is_compiled_anew(program, tmp_path):
    program.start()
    file = tmp_path / "place" / "functions.py"
    file.write_text(file.read_text() + "# changed\n")
    assert program.start() == 2


def test_processes_that_start_together_share_the_work(numba, tmp_path):
    source = "from inertial_estimation.compilation import compiled, warm_up\n" + "".join(
        f"@compiled\ndef f{i}(a: float) -> float:\n    return a ** {i} + max(a, {i}.0) * abs(a)\n"
        for i in range(8)
    )
    (tmp_path / "functions.py").write_text(source)
    code = "import functions; print(functions.warm_up(), functions.f2(3.0))"
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made, results = zip(*(process.communicate(timeout=120)[0].split() for process in both), strict=True)
    assert sum(map(int, made)) == 8, "each function by one of them"
    assert results == ("18.0", "18.0")


def test_whether_others_compile_is_seen_by_their_lock(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "_folder", lambda: tmp_path)
    assert not compilation.others_compile()
    with compilation._locked(fcntl.LOCK_EX):
        assert compilation.others_compile()
    assert not compilation.others_compile()


def test_without_a_folder_functions_are_compiled_all_the_same(numba, monkeypatch, tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    missing = compilation._folder.__wrapped__()
    program = Program(monkeypatch, tmp_path / "place", missing)
    assert compilation.kept_in() == ""
    assert not compilation.others_compile()
    assert program.start() == 2
    assert f"machine code cannot be kept in {missing}: Not a directory" in capsys.readouterr().err


def test_the_folder_is_named_after_the_contents_of_the_compiled_sources(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    names = []
    for place, text in (("a", "x = 1"), ("a", "x = 2"), ("b", "x = 2")):
        monkeypatch.setattr(compilation, "__file__", str(tmp_path / place / "compilation.py"))
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "other.py").write_text(text)
        names.append(compilation._folder.__wrapped__())
        (tmp_path / place / "step.py").write_text(f"{compilation.MARK.decode()} compiled; {text}")
        names.append(compilation._folder.__wrapped__())
    assert names[0] != names[1] == names[2] != names[3]
    assert names[3] == names[5], "wherever the sources are"


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


def test_a_numba_that_does_not_load_is_said_once_and_not_used(monkeypatch, tmp_path):
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less')")
    code = (
        "from inertial_estimation.compilation import compiled\n"
        "def f(a: float) -> float: return a\n"
        "assert compiled(f) is f and compiled(f) is f\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, check=True, timeout=60, env=environment, capture_output=True, text=True)
    assert ran.stderr == "numba does not load, so nothing is compiled: Numba needs NumPy 2.2 or less\n"
