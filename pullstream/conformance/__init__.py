"""The conformance kit: any module, run against reference partners in every way a partner may behave."""

from pullstream.conformance.ready import READY
from pullstream.conformance.subject import Subject

__all__ = ["READY", "Subject"]
