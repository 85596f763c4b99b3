"""Bidirectional streams: a `Duplex` is a source and a sink, one side of a conversation.

`connect` makes a pipeline of two of them. `pair` and `duplex_pair` make connected ends. `handshake` exchanges a few
messages before the streams begin.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.modules.handles.duplex import Duplex as Duplex, duplex_pair as duplex_pair, pair as pair
    from pullstream.modules.handles.handshake import Talk as Talk, handshake as handshake
    from pullstream.program.connect import connect as connect
else:
    __getattr__, __dir__, __all__ = late(__name__)
