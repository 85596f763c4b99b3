"""The run time: kernels, lanes, the assembly of a run, and the progress beside it."""
