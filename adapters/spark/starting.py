"""Starting Spark's Java, and handling Ctrl-C meanwhile.

PySpark starts a script, which starts Java. Java writes its port to a file and then watches its standard input, which
closes when this process ends, for any reason; then Java ends, too. But if PySpark is interrupted while it waits for the
file, it removes the file's folder, and a Java that cannot write its file neither ends nor watches. So Ctrl-C ends the
started process, and is raised once PySpark has noticed. And because it takes seconds until Java watches, a shell does
so meanwhile, through its own pipe, and ends Java together with this process.
"""

import os
import subprocess
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from typing_extensions import override

from pullstream.authoring import Interrupts

from .types import pyspark


class Starting(Interrupts):
    """A block that starts Spark. Ctrl-C is raised at its end, which comes soon if Java has not started yet.

    After Java has started, PySpark's current step is completed first, unless there is a second Ctrl-C.
    """

    def __init__(self) -> None:
        super().__init__()
        self._launched: list[subprocess.Popen[bytes]] = []
        self._ended = False
        self._watchers: list[subprocess.Popen[bytes]] = []
        self._gateway: Any = None
        self.listen(self._end)

    @override
    def __enter__(self) -> Self:
        super().__enter__()
        gateway = pyspark.java_gateway
        starting = self

        class Launched(subprocess.Popen[bytes]):
            """The process that PySpark starts, recorded as soon as it exists."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                starting._launched.append(self)
                super().__init__(*args, **kwargs)
                starting._watch(self.pid)
                if starting.kept:
                    starting._end()

        # There is no other way to learn which process it is. Without it, Ctrl-C is raised at the end of the start.
        if getattr(gateway, "Popen", None) is subprocess.Popen:
            self._gateway, gateway.Popen = gateway, Launched
        return self

    @override
    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._gateway is not None:
            self._gateway.Popen = subprocess.Popen
        for watcher in self._watchers:
            with suppress(OSError):
                watcher.communicate(b"\n")
        if self._ended:
            # PySpark may consider it started already; the next session must start another Java.
            pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None  # noqa: SLF001
            for process in self._launched:
                process.wait()
        super().__exit__(kind, exc, tb)

    @override
    def raises(self, frame: FrameType) -> bool:
        return len(self.kept) > 1 and not self._ended

    def _watch(self, pid: int) -> None:
        """End a process together with this one; the watcher ignores signals from the terminal, which reach both."""
        if os.name != "nt":
            command = ["/bin/sh", "-c", 'read -r _ || kill -9 "$1"', "sh", str(pid)]
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            watcher = subprocess.Popen(command, stdin=pipe, stdout=null, stderr=null, start_new_session=True)  # noqa: S603 - nothing in it is the user's
            self._watchers.append(watcher)

    def _end(self) -> None:
        if pyspark.SparkContext._gateway is None:  # noqa: SLF001
            for process in self._launched:
                # A process whose start was interrupted has no number yet; it is checked again later.
                if process.pid is not None:  # pyright: ignore[reportUnnecessaryComparison]
                    self._ended = True
                    process.kill()
