"""Functions of numbers, compiled by numba where it is installed (extra `standalone`).

The compiled function and the Python function are one source: without numba (or with the environment's
`NUMBA_DISABLE_JIT=1`) the decorators return it as it is, and it gives the same numbers to round-off. Fused
or reordered arithmetic (`fastmath`) is not allowed, so that processors agree.

numba keeps the machine code on disk: in `NUMBA_CACHE_DIR`, or else the user's cache folder
(`XDG_CACHE_HOME`, `~/.cache`), below a folder named after the contents of all compiled sources.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from inertial_estimation.errors import one_line
from inertial_estimation.signals import Array

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Column = Annotated[Array, 1, "read-only"]  # contiguous array of floats, one dimension
MutableColumn = Annotated[Array, 1, "mutable"]
Table = Annotated[Array, 2, "read-only"]  # contiguous array of floats, two dimensions
MutableTable = Annotated[Array, 2, "mutable"]
MutableTables = Annotated[Array, 3, "mutable"]  # tables of one shape, one after the other
MARK = b"from inertial_estimation.compilation import"  # in the sources that define compiled functions
_inlined: list[Callable[..., Any]] = []
_waiting: list[Any] = []


def compiled(function: FunctionT) -> FunctionT:
    """Compile a function of numbers for the types of its annotations, at the next `warm_up`.

    Arguments are float, int, bool, the kinds of arrays above, and tuples and NamedTuples of them; a call
    converts what fits (an int to a float) and never compiles again. It calls only `inlined` and `compiled`
    functions.
    """
    if not compiling():
        return function
    from numba import njit

    _waiting.append(njit(function))
    return _waiting[-1]  # type: ignore[no-any-return]


def inlined(function: FunctionT) -> FunctionT:
    """Allow compiled functions to call a function, which remains a Python function for other callers."""
    _inlined.append(function)
    return function


@cache
def compiling() -> bool:
    """Return whether functions are compiled here: numba is installed, and not switched off."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return False
    try:
        import numba  # noqa: F401
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError):  # e.g. built for another version of numpy
            print(f"numba does not load, so nothing is compiled: {one_line(error)}", file=sys.stderr)
        return False
    return True


def warm_up() -> int:
    """Compile all functions defined until now, or load them from disk; return how many were compiled."""
    if not _waiting:
        return 0
    from numba import config
    from numba.core.caching import NullCache
    from numba.extending import register_jitable

    while _inlined:
        register_jitable(_inlined.pop())
    functions, elsewhere, config.CACHE_DIR = [*_waiting], config.CACHE_DIR, str(folder := _folder())
    _waiting.clear()
    if not any(folder.rglob("*.nbi")):
        print(f"compiling {len(functions)} functions, once for this machine", file=sys.stderr, flush=True)
    for function in functions:
        hints = get_type_hints(function.py_func, include_extras=True)
        types = tuple(_numba_type(hint) for name, hint in hints.items() if name != "return")
        try:
            function.enable_caching()
            function.compile(types)
        except Exception as error:  # disk or damaged file; an error of the function is raised again below
            why = f"{one_line(error)}; delete the folder"
            print(f"machine code in {folder} cannot be used: {why}", file=sys.stderr)
            function._cache = NullCache()
            function.compile(types)
        function.disable_compile()
    config.CACHE_DIR = elsewhere
    return sum(not function.stats.cache_hits for function in functions)


def _numba_type(hint: Any) -> Any:
    from numba import types

    if get_origin(hint) is Annotated:
        _array, dimensions, access = get_args(hint)
        return types.Array(types.float64, dimensions, "C", readonly=access == "read-only")
    named = hasattr(hint, "_fields")
    if named or get_origin(hint) is tuple:
        parts = get_type_hints(hint, include_extras=True).values() if named else get_args(hint)
        return types.BaseTuple.from_types(list(map(_numba_type, parts)), hint if named else None)
    return {float: types.float64, int: types.int64, bool: types.boolean}[hint]


def _folder() -> Path:
    """Folder for the machine code of these sources; it may be missing, or not be writable."""
    sources = (path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
    digest = hashlib.sha256(b"".join(source for source in sources if MARK in source)).hexdigest()
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(os.environ.get("NUMBA_CACHE_DIR") or home) / "inertial_estimation" / digest[:16]
