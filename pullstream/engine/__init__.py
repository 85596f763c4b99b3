"""The run time: kernels, lanes, the assembly of a run, and the tracking of its progress."""
