"""The kernel of modules that ask for a few values at a time, and answer many together."""

from collections.abc import Hashable
from typing import Any

from typing_extensions import override

from pullstream.engine.parts.per_batch import PerBatch
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.busy import BREATH
from pullstream.protocol import DONE, Batch, Done, Unanswered


class FewAtOnce(PerBatch):
    """Asks for at most `most` values at a time, and answers together those that come quickly.

    Each in an answer of its own would cost the modules below more than all else. But a value must not wait for a slow
    one, and nothing tells in advance which one is slow. So the number to answer together begins at one, doubles while
    so many come quickly, and is one again after a slow value.
    """

    _together = 1

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        until = clocks.monotonic() + BREATH
        answer = super().poll(limit)
        if isinstance(answer, Batch):
            count = min(limit, self._together)
            if len(answer.values) < count:
                answer = self._with_more(answer, count, until)
            if clocks.monotonic() > until + BREATH:
                self._together = 1
            elif len(answer.values) >= self._together:
                self._together *= 2
        return answer

    def _with_more(self, first: Batch[Any], limit: int, until: float) -> Batch[Any]:
        """Add to an answer what else is there at once. All of it is held here until it is in flight below."""
        values, times = [*first.values], [*first.times]
        held: dict[Hashable, None] = {}
        failed, batch = self.edge.handover, first
        while self.most and failed.failure is None and len(values) < limit and clocks.monotonic() <= until:
            for time in batch.times:
                if time not in held:
                    self.location.hold(time)
                    held[time] = None
            try:
                more = super().poll(min(self.most, limit - len(values)))
            except BaseException as exc:  # noqa: BLE001 - raised at the next ask
                self.edge.fail_next(exc, values)
                break
            if not isinstance(more, Batch):
                if more is DONE:
                    # The next ask is answered with that, and upstream is not asked again (R9).
                    self.most = 0
                break
            batch = more
            values += batch.values
            times += batch.times
        for time in held:
            self.location.drop(time)
        return Batch.of(times, values)
