"""The experiments of the source papers, one module each; their results depend on the seeds alone."""

import sys

# Their sums have another order where an array is not aligned to their vectors, which depends on the heap.
VECTORISED = ("proxsuite.proxsuite_pywrap_avx512", "proxsuite.proxsuite_pywrap_avx2")


def prefer_repeatable_solver() -> None:
    """Make ProxSuite load its build without wide vectors, unless it is loaded already.

    ProxSuite loads the fastest build that the processor supports and that can be imported. Its builds for
    AVX give one of two solutions of the same program, 1e-9 apart, depending on the heap; that for SSE2 gives
    one, and takes 1.4 to 1.5 times as long. Results that depend on the seed alone need the latter.
    """
    if "proxsuite" not in sys.modules:
        for name in VECTORISED:
            sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # its import raises


prefer_repeatable_solver()  # in every process that imports an experiment, before it imports a controller
