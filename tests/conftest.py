"""What all tests share."""

import os
import signal


def pytest_configure():
    """Show every frame of what fails, and let interrupts reach the programs that tests start.

    In the background tests run with interrupts ignored, which those programs would take over.
    """
    os.environ["PULLSTREAM_TRACEBACK"] = "full"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
