"""Ctrl-C while the toolkit is at work: kept where it strikes, and raised where it can do no harm.

Python raises KeyboardInterrupt between any two instructions. In the middle of a change of state, or just before the
`try` that would have released a resource, it would leave damage that nothing can repair. So while the toolkit runs in
the main thread, its own handler stands in front of the program's. It calls the program's handler (Python's, the user's,
PySpark's) and keeps any exception that this handler raises. A handler that only records the signal has handled it.
Where Ctrl-C is ignored, or ends the process at once, nothing changes. SIGTERM, whose handler may call `sys.exit`, is
treated in the same way.

One call of `signal.signal` opens such a block, and one closes it. A signal before the first call raises where nothing
has begun. A signal after the second raises where nothing is left. Any signal in between is kept.
"""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import trio
from typing_extensions import override

from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import Abandoned
from pullstream.frames import OURS, cut

if TYPE_CHECKING:
    import asyncio

PLAIN: Final[Any] = sys.modules.get("_signal", signal)
"""The signal module without enums: each conversion of a handler to an enum raises an exception, and every run needs
four."""

UNDERNEATH: Final = frozenset({"trio", "outcome", "attr", "attrs", "sniffio", "sortedcontainers"})


class Standing:
    """A signal handler that stands in front of the program's own for as long as a block lasts.

    Thousands of blocks may overlap, and may end in any order: the handlers form a doubly linked list, so that one in
    the middle is removed in one step. Outside the main thread this does nothing, because no signal is handled there.
    """

    SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
    over = True

    def __init__(self) -> None:
        self.theirs: dict[int, Any] = {}
        """The previous handlers: the program's own, or those of another block."""
        self.above: dict[int, Standing] = {}
        """The blocks that have put their handler in front of this one."""

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.over = False
            try:
                for number in self.SIGNALS:
                    self._take(number)
            except BaseException:
                # A signal struck after the handler for another one was already installed.
                self._give_back(self.SIGNALS)
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._give_back(self.SIGNALS if threading.current_thread() is threading.main_thread() else ())

    def _take(self, number: int) -> None:
        theirs, below = _alive(number, PLAIN.getsignal(number))
        if callable(theirs):
            self.theirs[number] = theirs
            PLAIN.signal(number, self._handle)
            if below is not None:
                below.above[number] = self

    def _give_back(self, numbers: tuple[signal.Signals, ...]) -> None:
        try:
            if numbers and numbers[-1] in self.theirs:
                self._unlink(numbers[-1])
        finally:
            if len(numbers) > 1:
                self._give_back(numbers[:-1])
            else:
                # From now on this only passes signals on: the program may have put a handler in front that calls it.
                self.over = True

    def _unlink(self, number: int) -> None:
        (theirs, below), above = _alive(number, self.theirs[number]), self.above.pop(number, None)
        if above is not None:
            above.theirs[number] = theirs
        if below is not None:
            if above is not None:
                below.above[number] = above
            elif below.above.get(number) is self:
                del below.above[number]
        if PLAIN.getsignal(number) == self._handle:
            PLAIN.signal(number, theirs)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        try:
            (self.ask_theirs if self.over else self.on_signal)(signum, frame)
        except BaseException as exc:
            # The interrupted line remains, which is all that a user's own handler would leave.
            cut(exc)
            raise

    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        raise NotImplementedError

    def ask_theirs(self, signum: int, frame: FrameType | None) -> None:
        """Pass the signal to the program's own handler."""
        self.theirs[signum](signum, frame)


def _alive(number: int, handler: Any) -> tuple[Any, Standing | None]:
    """The handler to call, skipping those of blocks that have ended, and the block that it belongs to, if any."""
    while isinstance(standing := getattr(handler, "__self__", None), Standing):
        if not standing.over:
            return handler, standing
        handler = standing.theirs[number]
    return handler, None


class Interrupts(Standing):
    """Keeps Ctrl-C from the first instruction of a block to its last, notifies a listener, and raises it at the end.

    A second Ctrl-C before the first was noticed is raised at once if it strikes in a user's function, since that is
    what keeps everything waiting. A third one is raised wherever it strikes, except in trio.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[BaseException] = []
        """The exceptions to raise at the end."""
        self.noticed = False
        """Whether the interrupt is being handled."""
        self.reported = False
        """Whether the interrupt has been reported in another way, and need not be raised."""
        self._listener: Callable[[], object] | None = None
        # The handlers of asyncio and trio notify their main task, which could react only after the block.
        self._asks = current_task() is None and running_program() is None

    def listen(self, listener: Callable[[], object]) -> None:
        """Call `listener` at every Ctrl-C, between any two instructions; and now, if there has been one."""
        self._listener = listener
        if self.kept:
            listener()

    @override
    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        try:
            asks = self._asks or signum != signal.SIGINT
            (self.ask_theirs if asks else signal.default_int_handler)(signum, frame)
        except BaseException as exc:
            # Its traceback would keep the interrupted frames alive: a note says where it struck.
            self.kept.append(exc.with_traceback(None))
            if self._listener is not None:
                self._listener()
            if where := _users_line(frame):
                exc.add_note(where)
            if frame is not None and self.raises(frame):
                raise

    def raises(self, frame: FrameType) -> bool:
        """Whether an interrupt is raised at once, where it strikes."""
        if len(self.kept) == 2 and not self.noticed:
            return runs_users(frame)
        return len(self.kept) > 2 and _package(frame) not in UNDERNEATH

    @override
    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        super().__exit__(kind, exc, tb)
        self._listener = None
        self.check(exc)

    def check(self, exc: BaseException | None = None) -> None:
        """Raise the first kept interrupt, unless `exc`, which is already being raised, is one; `exc` is its cause."""
        if self.kept and not self.reported and not any(exc is kept for kept in self.kept):
            raise self.kept[0].with_traceback(None) from (None if isinstance(exc, Abandoned) else exc)


class Spared(Standing):
    """Ctrl-C in a user's trio program while a pipeline is open: raised where trio's main task waits next.

    So it does not strike in the middle of the toolkit's changes of state, nor between the end of a stream's block and
    the first instruction that closes the stream. A second one is raised at once if it strikes in a user's function.
    """

    SIGNALS = (signal.SIGINT,)

    times = 0

    @override
    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        self.times += 1
        at_once = self.times > 1 and runs_users(frame)
        theirs, below = _alive(signum, self.theirs[signum])
        # A loop, not recursion: with thousands of open pipelines, as many handlers stand in a row.
        while isinstance(below, Spared):
            below.times += 1
            theirs, below = _alive(signum, below.theirs[signum])
        # A handler may be called without a frame. Trio's handler then assumes that its own code was interrupted.
        theirs(signum, frame if at_once else None)


def interruptible() -> bool:
    """Whether trio may raise Ctrl-C in the current task: the main one, in the main thread."""
    nursery = trio.lowlevel.current_task().parent_nursery
    return (
        threading.current_thread() is threading.main_thread()
        and nursery is not None
        and nursery.parent_task is trio.lowlevel.current_root_task()
    )


def runs_users(frame: FrameType | None) -> bool:
    """Whether a user's function is running, or the standard library for it, and neither the toolkit nor trio."""
    while frame is not None and _package(frame) in sys.stdlib_module_names:
        frame = frame.f_back
    return frame is not None and _package(frame) not in OURS | UNDERNEATH


def _users_line(frame: FrameType | None) -> str:
    """The note that names the innermost running line of the user's code; empty if there is none."""
    # Code without a module is generated, such as a loop of fused stages.
    while frame is not None and _package(frame) in {"", *OURS, *UNDERNEATH, *sys.stdlib_module_names}:
        frame = frame.f_back
    if frame is None:
        return ""
    code = frame.f_code
    return f"interrupted at {code.co_filename}:{frame.f_lineno}, in {code.co_name}"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def current_task() -> "asyncio.Task[object] | None":
    """The asyncio task that runs in this thread, if there is one."""
    # If asyncio was never imported, none of its tasks runs; importing it takes as long as importing trio's core.
    current: Callable[[], asyncio.Task[object] | None] | None = getattr(
        sys.modules.get("asyncio"), "current_task", None
    )
    try:
        return None if current is None else current()
    except RuntimeError:
        return None
