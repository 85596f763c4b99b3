"""The source behind all file readers."""

from collections import deque
from typing import Any

import trio
from typing_extensions import override

from pullstream import DONE, Batch
from pullstream.authoring import LOG, Backlog, Carries, Done, Kernel, Outside, Traits, WaitingPace, catches
from pullstream.errors import JournalError

from ...stopping import in_thread
from .order import ReadPlan, check_over
from .reader import END, PLACE, SCHEMA, FilesReader, Found
from .resuming import EarlierRun


class FilesSource(Kernel[Any], Outside):
    """Reads files in threads, the next block once the previous one is delivered."""

    traits = Traits(trusted=True, carries=Carries.MEMORY)

    def __init__(self, plan: ReadPlan, *, on_error: object) -> None:
        self._plan = plan
        self._catches = catches(on_error)
        self._reading: FilesReader | None = None
        self._row: deque[Found] = deque()
        self._rest = Backlog()
        self._pace = WaitingPace()
        self._files = 1
        """The number of small files to read at once."""

    @override
    async def acquire(self) -> None:
        if self._plan.follow and self.scope.keeping.starts_afresh:
            what, option = ("reads new files of", "available=") if self._plan.available else ("follows", "follow=")
            raise JournalError(
                f"{self.location} {what} a folder inside another module, where a journal cannot record which file had "
                f"which time: put it into the pipeline itself, or read without {option}"
            )
        if self._plan.available and not self.memory.saves:
            LOG.warning("%s: available=True without a journal reads all files in every run", self.location)
        self._reading = FilesReader(self._plan, self._earlier(), self, catches=self._catches)

    def _earlier(self) -> EarlierRun:
        memory = self.memory
        if not memory.saves:
            return EarlierRun()
        ledger = memory.ledger
        files = {key: value for key, value in ledger.items() if isinstance(key, str)}
        return EarlierRun(True, files, END in ledger, ledger.get(SCHEMA), memory.get(PLACE), self.location.done)  # noqa: FBT003

    @override
    def identity(self) -> object:
        # The set of files may change. The ledger checks that the files read earlier are unchanged.
        return None

    @override
    def for_now(self) -> bool:
        return self._plan.available

    @override
    async def unchanged(self) -> bool:
        # Followed files may be removed, and new ones may be added.
        if not self._plan.follow:
            await in_thread(check_over, self._plan, self._earlier())
        return not self._plan.follow

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        reading = self._reading
        assert reading is not None
        rest, row = self._rest, self._row
        while not rest or (row and isinstance(row[0], Batch) and rest.left < limit):
            while not row:
                found = reading.step(limit, 1) if reading.ready else await self._step(reading, limit)
                if found is None:
                    return DONE
                row.extend(found)
            match row.popleft():
                case Batch() as batch:
                    rest.put(batch)
                case None:
                    await trio.sleep(self._plan.every)
                case change:
                    change()
        return rest.take(limit)

    async def _step(self, reading: FilesReader, limit: int) -> list[Found] | None:
        self._pace.took(1)
        # A cancelled wait leaves the thread running; `release` stops it and waits for it.
        found = await in_thread(reading.step, limit, self._files)
        self._pace.took(max(0, reading.ended - 1))
        self._files = self._pace.next()
        return found

    @override
    async def release(self) -> None:
        self._row.clear()
        self._rest = Backlog()
        if self._reading is not None:
            self._reading.stop()
            await in_thread(self._reading.close)

    @override
    def status(self) -> str:
        reading = self._reading
        if reading is None:
            return ""
        order = reading.order
        of = "" if order.count is None else f" of {order.count}"
        now = ", waiting for new ones" if self._plan.follow and not self._plan.available else ""
        if order.absent:
            now = f", waiting for {', '.join(order.absent)}, which {'do' if order.absent[1:] else 'does'} not exist"
        if reading.path:
            now = f", reading {reading.path}"
        if not self.edge.open:
            now = ""
        return f"{order.done}{of} files read{now}"
