"""Functions of numbers, compiled by numba where the optional extra `fast` is installed.

The compiled function and the Python function are one source: without numba (or with the environment's
`NUMBA_DISABLE_JIT=1`) the decorators return it as it is, and it gives the same numbers to round-off. Fused
or reordered arithmetic (`fastmath`) is not allowed, so that processors agree.

numba keeps the machine code on disk: in `NUMBA_CACHE_DIR`, or else the user's cache folder
(`XDG_CACHE_HOME`, `~/.cache`), below a folder named after the contents of all compiled sources.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from inertial_estimation.errors import one_line
from inertial_estimation.signals import Array

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
READ_ONLY, MUTABLE = "read-only", "mutable"
Column = Annotated[Array, 1, READ_ONLY]  # contiguous array of floats, one dimension
MutableColumn = Annotated[Array, 1, MUTABLE]
Table = Annotated[Array, 2, READ_ONLY]  # contiguous array of floats, two dimensions
MutableTable = Annotated[Array, 2, MUTABLE]
MARK = b"from inertial_estimation.compilation import"  # in the sources that define compiled functions
_inlined: list[Callable[..., Any]] = []
_waiting: list[tuple[Any, Callable[..., Any]]] = []


def compiled(function: FunctionT) -> FunctionT:
    """Compile a function of numbers for the types of its annotations, at the next `warm_up`.

    Arguments are float, int, bool, the four kinds of arrays above, and tuples of them; a call converts what
    fits (an int to a float) and never compiles again. It calls only `inlined` and `compiled` functions.
    """
    if not compiling():
        return function
    dispatcher: Any = _numba().njit(function)
    _waiting.append((dispatcher, function))
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: FunctionT) -> FunctionT:
    """Allow compiled functions to call a function, which stays a Python function for all others."""
    _inlined.append(function)
    return function


def compiling() -> bool:
    """Return whether functions are compiled here."""
    return _numba() is not None


def warm_up() -> int:
    """Compile all functions defined until now, or load them from disk; return how many were compiled."""
    if not _waiting:
        return 0
    from numba import config
    from numba.core.caching import NullCache
    from numba.extending import register_jitable

    while _inlined:
        register_jitable(_inlined.pop())
    functions, made = [*_waiting], 0
    _waiting.clear()
    folder, begin_s = _folder(), time.monotonic()
    fresh = not any(folder.rglob("*.nbi"))
    elsewhere, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        for number, (dispatcher, function) in enumerate(functions):
            if fresh:
                _show_progress(number, len(functions), time.monotonic() - begin_s)
            types = _argument_types(function)
            try:
                dispatcher.enable_caching()
                dispatcher.compile(types)
            except Exception as error:  # of the disk, or of what lies there; of a function it comes again
                why = f"{one_line(error)}; delete the folder"
                print(f"machine code in {folder} cannot be used: {why}", file=sys.stderr)
                dispatcher._cache = NullCache()
                dispatcher.compile(types)
            made += not sum(dispatcher.stats.cache_hits.values())
            dispatcher.disable_compile()
    finally:
        config.CACHE_DIR = elsewhere
    return made


def _show_progress(done: int, total: int, elapsed_s: float) -> None:
    """Say that functions are compiled; on a terminal also how long it takes, by those that are done."""
    live = sys.stderr.isatty()
    left = f": about {elapsed_s / done * (total - done):.0f} s left" if done else ""
    if live or not done:
        start, end = ("\r\x1b[K", "" if done < total - 1 else "\n") if live else ("", "\n")
        said = f"compiling {total} functions, once for this machine{left}"
        print(f"{start}{said}", end=end, file=sys.stderr, flush=True)


@cache
def _numba() -> Any:
    """The compiler; None where it is missing or switched off."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return None
    try:
        import numba
    except ModuleNotFoundError:
        return None
    except ImportError as error:  # of another version of numpy, for example
        print(f"numba does not load, so nothing is compiled: {one_line(error)}", file=sys.stderr)
        return None
    return numba


def _argument_types(function: Callable[..., Any]) -> tuple[Any, ...]:
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    return tuple(_numba_type(function, hint) for hint in hints.values())


def _numba_type(function: Callable[..., Any], hint: Any) -> Any:
    from numba import types

    scalars = {float: types.float64, int: types.int64, bool: types.boolean}
    if hint in scalars:
        return scalars[hint]
    if get_origin(hint) is tuple:
        return types.Tuple([_numba_type(function, item) for item in get_args(hint)])
    if get_origin(hint) is Annotated:
        _array, dimensions, access = get_args(hint)
        return types.Array(types.float64, dimensions, "C", readonly=access == READ_ONLY)
    raise TypeError(
        f"'{function.__qualname__}' cannot be compiled for an argument annotated {hint}, expected float, "
        "int, bool, a tuple of them, Column, Table, MutableColumn or MutableTable"
    )


def _folder() -> Path:
    """Folder for the machine code of these sources; it may be missing, or not be writable."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if MARK in source:
            digest.update(source)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parent = Path(os.environ.get("NUMBA_CACHE_DIR") or home) / "inertial_estimation"
    return parent / digest.hexdigest()[:16]
