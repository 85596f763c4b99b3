"""A progress display for any run (`pip install 'pullstream[display]'`).

    ps.run(pipeline, beside=display())

On a terminal it is live, in a pipe or CI log it prints a line now and then, and in a notebook it updates the cell's
output. The last state stays visible. Importing this package does not load rich; `display()` does.
"""

from pullstream.authoring import publish

from .task import DisplayMissing as DisplayMissing, display as display

publish(__name__)
