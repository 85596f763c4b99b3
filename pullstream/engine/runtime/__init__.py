"""A run on trio: its clocks, blocked tasks, deadlock detection, threads and interrupts."""
