"""Functions of numbers, compiled by numba where the optional extra `fast` is installed.

The compiled function and the Python function are one source: without numba (or with the environment's
`NUMBA_DISABLE_JIT=1`) the decorators return it as it is, and it gives the same numbers to round-off. Fused
or reordered arithmetic (`fastmath`) is not allowed, so that processors agree.

Machine code is kept on disk: in `NUMBA_CACHE_DIR`, or the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`),
below a folder named after the contents of all compiled sources, since numba itself does not notice that a
function called from another file has changed. Where neither is writable, every start compiles anew.
"""

import hashlib
import importlib
import os
import pkgutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import one_line
from inertial_estimation.signals import Array

try:
    import fcntl
except ModuleNotFoundError:  # not on this system: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
READ_ONLY, MUTABLE = "read-only", "mutable"
Column = Annotated[Array, 1, READ_ONLY]  # contiguous, one dimension; in these four, of floats
MutableColumn = Annotated[Array, 1, MUTABLE]
Table = Annotated[Array, 2, READ_ONLY]  # contiguous, two dimensions
MutableTable = Annotated[Array, 2, MUTABLE]
Integers = Annotated[NDArray[np.int64], 1, MUTABLE]  # contiguous, one dimension
MARK = b"inertial_estimation.compilation"  # in the sources that define compiled functions
_inlined: list[Callable[..., Any]] = []
_replaced: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_waiting: list[tuple[Any, Callable[..., Any]]] = []
_contexts: list[Callable[[], AbstractContextManager[None]]] = [nullcontext]
_tellers: list[Callable[[int], None]] = []


def compiled(function: FunctionT) -> FunctionT:
    """Compile a function of numbers for the types of its annotations, at the next `warm_up`.

    Arguments are float, int, bool, tuples of these, and the five kinds of arrays above. A call converts what
    fits (an int to a float) and never compiles again.

    Args:
        function: Function with annotated arguments, which calls only `inlined` and `compiled` ones. Constants
            are compiled in: those of other modules must be of modules that import this one.

    Returns:
        The compiled function; the same one where nothing is compiled.
    """
    numba = _numba()
    if numba is None:
        return function
    before = numba.config.CACHE_DIR
    folder = _cache_folder()
    numba.config.CACHE_DIR = folder or before  # where the cache of this function is looked for
    try:
        dispatcher = numba.njit(cache=bool(folder))(function)
    finally:
        numba.config.CACHE_DIR = before
    _waiting.append((dispatcher, function))
    made: FunctionT = dispatcher
    return made


def inlined(function: FunctionT) -> FunctionT:
    """Allow compiled functions to call a function, which stays a Python function for all others.

    Args:
        function: A function too short to be worth the 0.3 us of a call from Python into compiled code.

    Returns:
        The same function.
    """
    _inlined.append(function)
    return function


def in_place_of(library: Callable[..., Any]) -> Callable[[FunctionT], FunctionT]:
    """Let compiled functions execute the decorated function where their source calls another one.

    For functions that call a library which numba does not know, as LAPACK through SciPy: loops over numbers
    are as fast in compiled code and much slower elsewhere. Both must give the same results to round-off.

    Args:
        library: The function that is called where nothing is compiled.

    Returns:
        A decorator that returns its function unchanged.
    """

    def register(function: FunctionT) -> FunctionT:
        _replaced.append((library, function))
        return function

    return register


def compiling() -> bool:
    """Return whether functions are compiled here."""
    return _numba() is not None


def kept_in() -> str:
    """Return the folder in which compiled functions are kept on disk; empty where none is."""
    return _cache_folder() if compiling() else ""


def numbers(array: Array) -> Array:
    """Return an array as compiled functions take it; nested lists where they run as Python functions.

    Python reads and writes the numbers of a list several times faster than those of an array. Functions index
    a table as `table[i][j]`, which suits both.
    """
    made: Array = array if compiling() else array.tolist()
    return made


def zeros(*shape: int) -> Array:
    """Return zeros which compiled functions can read and write, as `numbers` returns them."""
    return numbers(np.zeros(shape))


def integers(count: int) -> tuple[Any, Any]:
    """Return integers, zero at first, that compiled functions and others change.

    Args:
        count: How many.

    Returns:
        What compiled functions take, and the same memory as Python reads and writes it fast.
    """
    made = np.zeros(count, dtype=np.int64)
    return (made if compiling() else made.data), made.data


def cells(row: Array) -> Any:
    """Return the memory of a row as Python reads and writes it fast, number by number.

    Args:
        row: What compiled functions take: made by `zeros` or `numbers`, or a row of such a table.

    Returns:
        A view of an array; the list itself where functions run as Python functions.
    """
    return row.data if compiling() else row


def compiling_within(context: Callable[[], AbstractContextManager[None]]) -> None:
    """Compile or load each function within a context from now on.

    numba converts or discards exceptions that signals raise while it works; a program whose signals raise
    sees to it here that they end it.

    Args:
        context: Called for each function.
    """
    _contexts[:] = [context]


def when_compiling(tell: Callable[[int], None]) -> None:
    """Let the next `warm_up` that finds a function which is not on disk say so: compiling takes minutes.

    Args:
        tell: Called once, with how many functions are not loaded yet.
    """
    _tellers[:] = [tell]


def warm_up() -> int:
    """Compile all functions defined until now, or load them from disk; quick where nothing is new.

    Processes that start together share the work: what another one is compiling is left to it, and loaded.

    Returns:
        How many were compiled here: those that were not on disk.
    """
    if not _waiting:
        return 0
    with _contexts[0]():
        _register()
    made = 0
    for patient in (False, True):  # first what nobody else is at work on, then what others have made
        for item in tuple(_waiting):
            with _claimed(item[1], patient) as mine:
                if not mine:
                    continue
                with _contexts[0]():
                    _compile(*item)
                    _waiting.remove(item)
            made += not item[0].stats.cache_hits
            while made and _tellers:
                _tellers.pop()(len(_waiting))
    return made


def _compile(dispatcher: Any, function: Callable[..., Any]) -> None:
    """Compile one function for its annotations, or load it."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    dispatcher.compile(tuple(_numba_type(function, hint) for hint in hints.values()))
    dispatcher.disable_compile()


@contextmanager
def _claimed(function: Callable[..., Any], patient: bool) -> Iterator[bool]:
    """Whether no other process is at work on a function of the same folder; if patient, wait until so."""
    folder = _cache_folder()
    if fcntl is None or not folder:
        yield True
        return
    with (Path(folder) / f"{function.__module__}.{function.__qualname__}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if patient else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def others_compile() -> bool:
    """Return whether another process is at work on a function of the same folder."""
    folder = _cache_folder()
    if fcntl is None or not folder:
        return False
    for path in Path(folder).glob("*.lock"):
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def compile_all() -> int:
    """Compile every function of the package that can be imported here, or load it from disk.

    Returns:
        How many were compiled: those that were not on disk.
    """
    package = __name__.rpartition(".")[0]
    for module in pkgutil.walk_packages([str(Path(__file__).parent)], f"{package}."):
        with suppress(ImportError):  # of an extra that is not installed
            importlib.import_module(module.name)
    return warm_up()


def _register() -> None:
    """Let numba know the functions that compiled ones call."""
    from numba.extending import overload, register_jitable

    while _inlined:
        register_jitable(_inlined.pop())
    while _replaced:
        library, loops = _replaced.pop()
        overload(library, strict=False)(lambda *_types, loops=loops: loops)


@cache
def _numba() -> Any:
    """The compiler; None where it is missing or switched off."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return None
    try:
        with _contexts[0]():
            import numba
    except ModuleNotFoundError:
        return None
    except ImportError as error:  # of another version of numpy, for example
        warnings.warn(f"numba does not load, so nothing is compiled: {one_line(error)}", stacklevel=2)
        return None
    return numba


def _numba_type(function: Callable[..., Any], hint: Any) -> Any:
    from numba import types

    scalars = {float: types.float64, int: types.int64, bool: types.boolean}
    if hint in scalars:
        return scalars[hint]
    if get_origin(hint) is tuple and isinstance(hint, GenericAlias):
        return types.Tuple([_numba_type(function, item) for item in get_args(hint)])
    if get_origin(hint) is Annotated:
        array, dimensions, access = get_args(hint)
        entries = types.float64 if array == Array else types.int64
        return types.Array(entries, dimensions, "C", readonly=access == READ_ONLY)
    raise TypeError(
        f"'{function.__qualname__}' cannot be compiled for an argument annotated {hint}, expected float, "
        "int, bool, a tuple of them, Column, Table, MutableColumn, MutableTable or Integers"
    )


@cache
def _cache_folder() -> str:
    """Folder for the machine code of these sources; empty where none is writable."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for parent in filter(None, (os.environ.get("NUMBA_CACHE_DIR"), home)):
        folder = Path(parent) / "inertial_estimation" / _fingerprint()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return str(folder)
    return ""


def _fingerprint() -> str:
    """Digest of all sources of the package that define compiled functions."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if MARK in source:
            digest.update(source)
    return digest.hexdigest()[:16]
