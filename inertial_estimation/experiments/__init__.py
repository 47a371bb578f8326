"""The experiments of the source papers, one module each."""
