"""Size of the project: lines, modules, constants, parameters, compiled functions, words of pages."""

import ast
from collections import Counter
from functools import partial
from pathlib import Path

from benchmarks.referee.row import Better, Row, figure
from inertial_estimation.configuration.node_configs import NODE_CONFIGS, parameters_of

text = partial(Path.read_text, encoding="utf-8")
COMPILED = {"compiled", "inlined"}  # decorators of compiled functions


def size() -> list[Row]:
    """Return the sizes of the checkout that contains this file, wherever the package is installed."""
    root = Path(__file__).parents[2]
    package = root / "inertial_estimation"
    found = counted(package)
    numbers = {
        "product: lines": lines(package),
        "product: modules": found["modules"],
        "product: constants": found["constants"],
        "product: compiled functions": found["compiled"],
        "product: parameters of all nodes": sum(len(parameters_of(node)) for node in NODE_CONFIGS),
        "tests: lines": lines(root / "test"),
        "benchmarks: lines": lines(root / "benchmarks"),
        "pages: words": sum(len(text(page).split()) for page in (root / "docs").rglob("*.md")),
        "README: words": len(text(root / "README.md").split()),
    }
    rooms = sorted(path for path in package.iterdir() if any(path.rglob("*.py")))
    rows = [figure(name, value) for name, value in numbers.items()]
    return rows + [figure(f"room {room.name}: lines", lines(room), "", Better.INFO) for room in rooms]


def lines(folder: Path) -> int:
    """Count the lines of all modules below a folder."""
    return sum(len(text(path).splitlines()) for path in folder.rglob("*.py"))


def counted(folder: Path) -> Counter[str]:
    """Count modules, constants and compiled functions below a folder."""
    total: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        tree = ast.parse(text(path))
        total["modules"] += 1
        total["constants"] += sum(map(_constants, tree.body))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = {getattr(d, "id", "") for d in node.decorator_list}
                total["compiled"] += bool(names & COMPILED)
    return total


def _constants(node: ast.stmt) -> int:
    """Count the numbers of an assignment to names in capitals; those in a call or a table count as one."""
    if not isinstance(node, ast.Assign):
        return 0
    flat = [e for t in node.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
    if not all(isinstance(target, ast.Name) and target.id.lstrip("_").isupper() for target in flat):
        return 0
    inside = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
    numbers = sum(type(value) in (int, float) for value in inside)
    plain = isinstance(node.value, (ast.Tuple, ast.Constant, ast.UnaryOp, ast.BinOp))
    return numbers if plain else int(numbers > 0)
