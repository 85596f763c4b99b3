"""The kernel that reads several inner streams concurrently, and answers in the order in which they answer."""

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any, Generic

from typing_extensions import TypeVar, override

from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.inner_streams import forget_inner
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.tasks import Asking
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done, Unanswered

S = TypeVar("S", bound=Input)


class SideBySide(Asking[Any], Generic[S]):
    """Reads inner streams concurrently, and passes on their answers in order of arrival.

    At most one answer of each stream waits here. A stream's failure is raised after the waiting answers. The end of
    upstream is passed on after all inner streams have ended.
    """

    traits = Traits(trusted=True, reorders=True)

    def __init__(self) -> None:
        self.inner: dict[Lane[Any], S] = {}
        """The streams that have not ended."""
        self.backlog = Backlog(self)
        """Answers that belong to no inner stream, then the failure of the first stream that failed."""
        self._ready: deque[S] = deque()
        self._to_ask: list[S] = []

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.outer = Input(self.upstream)
        """The values from upstream that are not dealt yet and stay in flight, and the ending."""

    # ---- what a module supplies

    @abstractmethod
    def wanted(self, limit: int) -> int:
        """The number of values to ask upstream for, when all are dealt; 0 while there is no room for more."""

    @abstractmethod
    def took(self, count: int) -> None:
        """Note that an answer of `count` values has arrived from upstream."""

    @abstractmethod
    def deal(self, limit: int) -> None:
        """Handle values of `outer` as far as possible, for an ask of `limit`, and count them as `used`."""

    @abstractmethod
    def answer(self, stream: S, batch: Batch[Any]) -> Batch[Any]:
        """Make the answer from values of a stream."""

    def ask_streams(self, streams: Sequence[S], limit: int) -> None:
        """Ask the streams that have no values left."""
        until = clocks.monotonic() + BREATH
        for stream in streams:
            # In this step if it answers, unless the streams before it have kept other tasks waiting.
            ask = self.ask_input if clocks.monotonic() < until else self.ask_beside
            ask(stream.lane, limit)

    def stream_ended(self, stream: S) -> None:
        """Note that a stream has ended."""

    def end(self, ending: Done | BaseException) -> None:
        """Note that upstream has ended, or that a batch from upstream could not be handled."""
        self.outer.end(ending)

    # ----

    def add(self, stream: S) -> None:
        """Read one more stream."""
        self.inner[stream.lane] = stream
        self._to_ask.append(stream)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self._ready:
            self.ask_due()
            stream = self._ready[0]
            batch = stream.take_run(limit)
            if not stream:
                self._ready.popleft()
                self._to_ask.append(stream)
            return self.answer(stream, batch)
        if not self.backlog.known:
            used = self.outer.used
            self.deal(limit)
            if self.outer.used > used:
                self.outer.settle()
            self.ask_due()
            if self._to_ask:
                self.ask_streams(self._to_ask, limit)
                self._to_ask.clear()
            if not (self.outer or self.outer.known) and (wanted := self.wanted(limit)):
                self.ask_input(self.upstream, wanted)
        if (answer := self.backlog.answer(limit)) is not None:
            return answer
        return DONE if not self.inner and self.outer.reached() else self.pending()

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        stream = self.inner.get(lane)
        if stream is None:
            if isinstance(answer, Batch):
                self.outer.put(answer)
                self.took(len(answer.values))
            else:
                self.end(answer)
        elif isinstance(answer, Batch):
            stream.put(answer)
            self._ready.append(stream)
        elif isinstance(answer, BaseException) and answer is not self.outer.ending:
            self.backlog.end(answer)
        else:
            self.stream_ended(stream)
            del self.inner[lane]
            forget_inner(self, [lane])
