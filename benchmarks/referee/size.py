"""Size of the house: lines, modules, constants, parameters, compiled functions, words of pages."""

import ast
import re
from collections import Counter
from pathlib import Path

from benchmarks.referee.row import Better, Row
from benchmarks.referee.task import Task
from benchmarks.referee.way import ways

PART = "size"
COMPILED = ("compiled", "inlined", "in_place_of", "njit", "kernel")  # decorators of compiled functions


def tasks(_seed: int, _count: int) -> list[Task]:
    """Return the counting of the package and of what is beside it."""
    return [Task(PART, "size", size, 5.0), Task(PART, "ways", ways, 10.0)]


def size() -> list[Row]:
    """Count the checkout from which the package is imported."""
    import inertial_estimation
    from inertial_estimation.configuration.node_configs import NODE_CONFIGS, parameters_of

    package = Path(inertial_estimation.__file__).parent
    root, found = package.parent, counted(package)
    numbers: dict[str, float] = {
        "product: lines": lines(package),
        "product: lines of code, without docstrings, comments, blanks and imports": found["code"],
        "product: modules": found["modules"],
        "product: classes": found["classes"],
        "product: functions": found["functions"],
        "product: constants": found["constants"],
        "product: indices of cells": found["cell indices"],
        "product: compiled functions": sum(found[name] for name in COMPILED),
        "product: parameters of all nodes": sum(len(parameters_of(node)) for node in NODE_CONFIGS),
        "tests: lines": lines(root / "test"),
        "benchmarks: lines": lines(root / "benchmarks"),
        "benchmarks: lines of the fault campaign": lines(root / "benchmarks" / "fault_campaign"),
        "pages: words": words(root / "docs"),
        "README: words": len(_text(root / "README.md").split()),
        "changelog: words": len(_text(root / "CHANGELOG.rst").split()),
    }
    rooms = sorted(path for path in package.iterdir() if path.is_dir() and any(path.rglob("*.py")))
    rows = [Row(name, float(value), "", Better.LOWER) for name, value in numbers.items()]
    return rows + [Row(f"room {room.name}: lines", float(lines(room)), "", Better.INFO) for room in rooms]


def lines(folder: Path) -> int:
    """Count the lines of all modules below a folder."""
    return sum(len(_text(path).splitlines()) for path in folder.rglob("*.py"))


def words(folder: Path) -> int:
    """Count the words of all pages below a folder."""
    return sum(len(_text(path).split()) for path in folder.rglob("*.md"))


def counted(folder: Path) -> Counter[str]:
    """Count modules, classes, functions, kinds of lines, constants and compiled functions below a folder."""
    total: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        text = _text(path)
        tree = ast.parse(text)
        total["modules"] += 1
        documentation = _count_definitions(tree, total)
        for number, line in enumerate(text.splitlines(), start=1):
            stripped = line.strip()
            besides = number in documentation or not stripped or stripped.startswith("#")
            total["code"] += not besides and not re.match(r"(from|import) ", stripped)
        for node in tree.body:
            if isinstance(node, ast.Assign):
                _count_constants(node, total)
    return total


def _count_definitions(tree: ast.Module, total: Counter[str]) -> set[int]:
    """Count classes, functions and decorators; return the lines of docstrings."""
    documentation: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            total["classes"] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            total["functions"] += 1
            names = {
                getattr(d, "id", getattr(getattr(d, "func", None), "id", "")) for d in node.decorator_list
            }
            total.update(name for name in COMPILED if name in names)
        elif not isinstance(node, ast.Module):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            documentation.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return documentation


def _count_constants(node: ast.Assign, total: Counter[str]) -> None:
    """Count the numbers of an assignment to names in capitals, and names of cells given by `range`."""
    flat = [e for t in node.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
    names = [target.id for target in flat if isinstance(target, ast.Name)]
    if len(names) != len(flat) or not all(name.lstrip("_").isupper() for name in names):
        return
    inside = list(ast.walk(node.value))
    if any(isinstance(v, ast.Call) and getattr(v.func, "id", "") == "range" for v in inside):
        total["cell indices"] += len(names)
        return
    numbers = [v for v in inside if isinstance(v, ast.Constant) and type(v.value) in (int, float)]
    plain = isinstance(node.value, (ast.Tuple, ast.Constant, ast.UnaryOp, ast.BinOp))
    total["constants"] += len(numbers) if plain else bool(numbers)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
