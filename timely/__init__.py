"""The theory of progress tracking, executable: pure, synchronous, no I/O."""
