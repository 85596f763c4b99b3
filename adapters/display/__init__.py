"""A progress display for any run (`pip install 'pullstream[display]'`).

    ps.run(pipeline, beside=display())

On a terminal it is live; in a pipe, or a log of CI, it is a line now and then; in a notebook it is an output of the
cell. Either way the last state stays. Importing this loads no rich; `display()` does.
"""

from .task import DisplayMissing, display

__all__ = ["DisplayMissing", "display"]
