"""What all tests share."""

import os
import signal
from pathlib import Path

ROOT = Path(__file__).parents[1]


def pytest_configure():
    """Show every frame of what fails, and let programs that tests start be of this checkout, and be interrupted.

    What is installed beside it has no adapters at its top, and may be older. In the background tests run with
    interrupts ignored, which those programs would take over.
    """
    os.environ["PULLSTREAM_TRACEBACK"] = "full"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
