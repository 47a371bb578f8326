"""Functions of numbers, compiled by numba where the optional extra `fast` is installed.

The compiled function and the Python function are one source: without numba (or with the environment's
`NUMBA_DISABLE_JIT=1`) the decorators return it as it is, and it gives the same numbers to round-off. Fused
or reordered arithmetic (`fastmath`) is not allowed, so that processors agree.

Machine code is kept on disk: in `NUMBA_CACHE_DIR`, or else the user's cache folder (`XDG_CACHE_HOME`,
`~/.cache`), below a folder named after the contents of all compiled sources. Neither the user nor the place
of the sources matters: one user, or an image, may compile for all. What cannot be read is compiled anew and
replaced, what cannot be written is not kept, and a line on stderr says so.
"""

import fcntl
import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from inertial_estimation.errors import one_line
from inertial_estimation.signals import Array

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
READ_ONLY, MUTABLE = "read-only", "mutable"
Column = Annotated[Array, 1, READ_ONLY]  # contiguous, one dimension; in these four, of floats
MutableColumn = Annotated[Array, 1, MUTABLE]
Table = Annotated[Array, 2, READ_ONLY]  # contiguous, two dimensions
MutableTable = Annotated[Array, 2, MUTABLE]
Integers = Annotated[NDArray[np.int64], 1, MUTABLE]  # contiguous, one dimension
DIGEST = hashlib.sha256().digest_size  # bytes, in front of the machine code
MARK = b"from inertial_estimation.compilation import"  # in the sources that define compiled functions
_inlined: list[Callable[..., Any]] = []
_replaced: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
_waiting: list[tuple[Any, Callable[..., Any]]] = []
_contexts: list[Callable[[], AbstractContextManager[None]]] = [nullcontext]


def compiled(function: FunctionT) -> FunctionT:
    """Compile a function of numbers for the types of its annotations, at the next `warm_up`.

    Arguments are float, int, bool, the five kinds of arrays above, and tuples and NamedTuples of all these.
    A call converts what fits (an int to a float) and never compiles again.

    Args:
        function: Function with annotated arguments, which calls only `inlined` and `compiled` ones. Constants
            are compiled in: those of other modules must be of modules that import this one.

    Returns:
        The compiled function; the same one where nothing is compiled.
    """
    numba = _numba()
    if numba is None:
        return function
    dispatcher = numba.njit(function)
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
    """Return the folder in which compiled functions are kept on disk; empty where none can be written."""
    return str(_folder()) if compiling() and os.access(_folder(), os.W_OK) else ""


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


def compiling_within(context: Callable[[], AbstractContextManager[None]]) -> None:
    """Compile or load each function within a context from now on.

    numba converts or discards exceptions that signals raise while it works; a program whose signals raise
    sees to it here that they end it.

    Args:
        context: Called for each function.
    """
    _contexts[:] = [context]


def warm_up() -> int:
    """Compile all functions defined until now, or load them from disk; quick where nothing is new.

    One process at a time compiles; those that have waited for it load what it has kept.

    Returns:
        How many were compiled here: those that were not on disk.
    """
    if not _waiting:
        return 0
    with _contexts[0]():
        _register()
        missing = [item for item in _waiting if not _loaded(*item)]
    with ExitStack() as stack:
        if missing:
            _tell(f"compiling {len(missing)} function(s); 'inertial-estimation compile' does so ahead")
            with suppress(OSError):  # without a folder each process compiles for itself
                stack.enter_context(_locked(fcntl.LOCK_EX))
        made = sum(not _loaded(*item) and _compiled(*item) for item in missing)
    for dispatcher, _ in _waiting:
        dispatcher.disable_compile()
    _waiting.clear()
    return made


def _loaded(dispatcher: Any, function: Callable[..., Any]) -> bool:
    """Load the machine code of a function; return whether it is on disk."""
    from numba.core.compiler import CompileResult

    path, context = _path(dispatcher, function), dispatcher.targetctx
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            raise ValueError("it is damaged")
        result = CompileResult._rebuild(context, *pickle.loads(content[DIGEST:]))
    except FileNotFoundError:
        return False
    except Exception as error:
        reason = error.strerror if isinstance(error, OSError) else one_line(error)
        _tell(f"machine code in {path.parent} cannot be used and is compiled anew: {reason}")
        return False
    context.insert_user_function(result.entry_point, result.fndesc, [result.library])
    dispatcher.add_overload(result)
    return True


def _compiled(dispatcher: Any, function: Callable[..., Any]) -> bool:
    """Compile a function and keep its machine code."""
    from numba.core.serialize import dumps

    types, path = _argument_types(function), _path(dispatcher, function)
    with _contexts[0]():
        dispatcher.compile(types)
    code = dumps(dispatcher.overloads[types]._reduce())
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(hashlib.sha256(code).digest() + code)
        partial.replace(path)
    except OSError as error:
        _tell(f"machine code cannot be kept in {path.parent}: {error.strerror}")
        with suppress(OSError):
            partial.unlink()
    return True


def _path(dispatcher: Any, function: Callable[..., Any]) -> Path:
    """File of the machine code of a function, for its source, this processor and these versions."""
    dispatcher.targetctx.refresh()
    target = dispatcher.targetctx.codegen().magic_tuple()
    kind = f"{_argument_types(function)} {target} {_numba().__version__} {sys.implementation.cache_tag}"
    source = Path(function.__code__.co_filename).read_bytes()
    digest = hashlib.sha256(source + kind.encode()).hexdigest()[:16]
    return _folder() / f"{function.__module__}.{function.__qualname__}.{digest}"


@contextmanager
def _locked(operation: int) -> Iterator[None]:
    """Lock the folder of machine code, which other users and read-only media allow as well."""
    folder = os.open(_folder(), os.O_RDONLY)
    try:
        fcntl.flock(folder, operation)
        yield
    finally:
        os.close(folder)


def others_compile() -> bool:
    """Return whether another process compiles functions of the same folder."""
    try:
        with _locked(fcntl.LOCK_SH | fcntl.LOCK_NB):
            return False
    except OSError as error:
        return isinstance(error, BlockingIOError)


@cache
def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


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
        _tell(f"numba does not load, so nothing is compiled: {one_line(error)}")
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
    if get_origin(hint) is tuple and isinstance(hint, GenericAlias):
        return types.Tuple([_numba_type(function, item) for item in get_args(hint)])
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        fields = get_type_hints(hint, include_extras=True).values()
        return types.BaseTuple.from_types([_numba_type(function, field) for field in fields], hint)
    if get_origin(hint) is Annotated:
        array, dimensions, access = get_args(hint)
        entries = types.float64 if array == Array else types.int64
        return types.Array(entries, dimensions, "C", readonly=access == READ_ONLY)
    raise TypeError(
        f"'{function.__qualname__}' cannot be compiled for an argument annotated {hint}, expected float, "
        "int, bool, a tuple or NamedTuple of them, Column, Table, MutableColumn, MutableTable or Integers"
    )


@cache
def _folder() -> Path:
    """Folder for the machine code of these sources; it may be missing, or not be writable."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if MARK in source:
            digest.update(source)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parent = Path(os.environ.get("NUMBA_CACHE_DIR") or home) / "inertial_estimation"
    folder = parent / digest.hexdigest()[:16]
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
