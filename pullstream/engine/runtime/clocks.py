"""The clocks by which the engine measures work: the only place where it reads real time for that.

A run of the same program takes the same steps only if these clocks show the same times, so a simulation replaces them.
Therefore they are read as attributes of this module, `clocks.monotonic()`. All waits use trio's clock.
"""

from collections.abc import Callable
from time import monotonic as _monotonic, perf_counter as _perf_counter, thread_time as _thread_time

monotonic: Callable[[], float] = _monotonic
"""Seconds since some moment."""

thread_time: Callable[[], float] = _thread_time
"""Seconds of processor time that this thread has used."""

perf_counter: Callable[[], float] = _perf_counter
"""Seconds since some moment, for short durations."""
