"""A trio program in a thread of its own, which keeps running between the calls that Spark makes."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import trio
import trio.from_thread

from pullstream.authoring import Carryover, Instalment, InstalmentPlan, Instalments, instalments


class InstalmentThread:
    """Makes instalments in a thread, which starts with the first one."""

    def __init__(self, plan: InstalmentPlan) -> None:
        self._plan = plan
        self.ahead = plan.ahead()
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._over: trio.Event
        self._instalments: Instalments
        self._failure: BaseException | None = None

    def make(self, times: Sequence[int], values: Sequence[Any], tick: int, kept: Carryover | None) -> Instalment:
        """Make an instalment; blocks."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="pullstream keys", daemon=True)
            self._thread.start()
            self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return trio.from_thread.run(self._instalments.make, times, values, tick, kept, trio_token=self._token)

    def close(self) -> None:
        """End the thread, and wait for it. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            if self._token is not None:
                with suppress(trio.RunFinishedError):
                    self._token.run_sync_soon(self._over.set)
            thread.join()

    def _work(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as exc:  # noqa: BLE001 - raised in Spark's thread
            self._failure = exc
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._over = trio.Event()
        async with instalments(self._plan, self.ahead) as self._instalments:
            self._token = trio.lowlevel.current_trio_token()
            self._ready.set()
            await self._over.wait()
