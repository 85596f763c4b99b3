"""What all tests share."""

import signal


def pytest_configure():
    """Let interrupts reach the programs that tests start, also where the tests run in the background, ignoring them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
