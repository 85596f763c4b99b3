"""Bidirectional streams: a `Duplex` is a source and a sink, one side of a conversation.

`connect` makes a pipeline of two of them. `pair` and `duplex_pair` make connected ends. `handshake` exchanges a few
messages before the streams begin.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.modules.handles.duplex import Duplex, duplex_pair, pair
    from pullstream.modules.handles.handshake import Talk, handshake
    from pullstream.program.connect import connect
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pullstream.modules.handles.duplex": "Duplex duplex_pair pair",
            "pullstream.modules.handles.handshake": "Talk handshake",
            "pullstream.program.connect": "connect",
        },
    )

__all__ = [
    "Duplex",
    "Talk",
    "connect",
    "duplex_pair",
    "handshake",
    "pair",
]
