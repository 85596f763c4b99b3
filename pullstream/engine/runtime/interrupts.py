"""Ctrl-C while the toolkit is at work: kept where it strikes, and raised where it can do no harm.

Python raises KeyboardInterrupt between any two instructions. In the middle of a change of state, or just before the
`try` that would have let go of something, it leaves behind what nobody can put in order again. So as long as the
toolkit has the main thread, a handler of its own stands before the program's. It calls that one (Python's, one of the
user's, PySpark's), and what *that* raises is kept. A handler that only takes note of the signal has dealt with it; and
where Ctrl-C is ignored, or ends the process at once, everything stays as it is. With a SIGTERM, whose handler may call
`sys.exit`, it is the same.

Such a block is opened and closed by one call of `signal.signal`. What strikes before the first is raised where nothing
has begun, what strikes after the second where nothing is left, and what strikes in between is kept, whichever it is.
"""

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from typing_extensions import override

from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import Abandoned
from pullstream.frames import OURS

if TYPE_CHECKING:
    import asyncio

UNDERNEATH: Final = frozenset({"trio", "outcome", "attr", "attrs", "sniffio", "sortedcontainers"})


class Standing:
    """A handler of signals that stands before the program's own for as long as a block lasts.

    Blocks may overlap, thousands of them, and need not end in the order in which they began: the handlers are linked
    both ways, so that one in the middle of the row is taken out in one step. Outside of the main thread nothing is
    done: no signal is handled there.
    """

    SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.theirs: dict[int, Any] = {}
        """The handlers that stood before: the program's own, or those of another block."""
        self.above: dict[int, Standing] = {}
        """The blocks that have put their handler on top of this one."""
        self.over = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.over = False
            try:
                for number in self.SIGNALS:
                    self._take(number)
            except BaseException:
                # One signal struck while there was a handler for another one already.
                self._give_back(self.SIGNALS)
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._give_back(self.SIGNALS if threading.current_thread() is threading.main_thread() else ())

    def _take(self, number: int) -> None:
        theirs = _alive(number, signal.getsignal(number))
        if callable(theirs):
            self.theirs[number] = theirs
            signal.signal(number, self._handle)
            if (below := _standing(theirs)) is not None:
                below.above[number] = self

    def _give_back(self, numbers: tuple[signal.Signals, ...]) -> None:
        try:
            if numbers and numbers[-1] in self.theirs:
                self._unlink(numbers[-1])
        finally:
            if numbers:
                self._give_back(numbers[:-1])
            else:
                # A handler that the program put on top of this one still calls it.
                self.over = True

    def _unlink(self, number: int) -> None:
        theirs, above = _alive(number, self.theirs[number]), self.above.pop(number, None)
        if above is not None:
            above.theirs[number] = theirs
        if (below := _standing(theirs)) is not None:
            if above is not None:
                below.above[number] = above
            elif below.above.get(number) is self:
                del below.above[number]
        if signal.getsignal(number) == self._handle:
            signal.signal(number, theirs)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        (self.ask_theirs if self.over else self.on_signal)(signum, frame)

    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        """Deal with a signal."""
        raise NotImplementedError

    def ask_theirs(self, signum: int, frame: FrameType | None) -> None:
        """Let the program's own handler deal with it."""
        self.theirs[signum](signum, frame)


def _standing(handler: Any) -> Standing | None:
    """The block whose handler this is, if it is one's."""
    standing = getattr(handler, "__self__", None)
    return standing if isinstance(standing, Standing) else None


def _alive(number: int, handler: Any) -> Any:
    """The handler that is to be called: those of blocks that are over are left out."""
    while (standing := _standing(handler)) is not None and standing.over:
        handler = standing.theirs[number]
    return handler


class Interrupts(Standing):
    """Ctrl-C from the first instruction of a block to its last: kept, told to whoever listens, raised at the end.

    A second one before the first was noticed is raised at once if it strikes in a function of the user's: that is what
    keeps everything waiting. A third one is raised wherever it strikes, but in trio.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[BaseException] = []
        """The exceptions that are to be raised."""
        self.noticed = False
        """Whether something is being done about it."""
        self.told = False
        """Whether it is known otherwise, and need not be raised."""
        self._heard: Callable[[], object] | None = None
        # asyncio's handler, and trio's, would tell their main task, which can hear of it only after the block.
        self._asks = current_task() is None and running_program() is None

    def listen(self, heard: Callable[[], object]) -> None:
        """Let `heard` be called at every Ctrl-C, in the midst of anything; now, if there has been one."""
        self._heard = heard
        if self.kept:
            heard()

    @override
    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        try:
            asks = self._asks or signum != signal.SIGINT
            (self.ask_theirs if asks else signal.default_int_handler)(signum, frame)
        except BaseException as exc:
            # With its traceback it would keep whatever it struck.
            self.kept.append(exc.with_traceback(None))
            if self._heard is not None:
                self._heard()
            if frame is not None and self.raises(frame):
                raise

    def raises(self, frame: FrameType) -> bool:
        """Whether one is raised at once, where it strikes."""
        if len(self.kept) == 2 and not self.noticed:
            return is_users(frame)
        return len(self.kept) > 2 and _package(frame) not in UNDERNEATH

    @override
    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        super().__exit__(kind, exc, tb)
        self.check(exc)

    def check(self, exc: BaseException | None = None) -> None:
        """Raise what was kept, unless `exc`, which is being raised, is that; what failed beside it is its cause."""
        if self.kept and not self.told and not any(exc is kept for kept in self.kept):
            raise self.kept[0].with_traceback(None) from (None if isinstance(exc, Abandoned) else exc)


class Spared(Standing):
    """Ctrl-C in a trio program of the user's, while a pipeline is open there: raised where trio's main task waits next.

    Not in the midst of what keeps a stream in order, then, nor between the end of its block and the first instruction
    of what closes it. A second one is raised at once, if it strikes in a function of the user's.
    """

    SIGNALS = (signal.SIGINT,)

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    @override
    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        self.times += 1
        at_once = self.times > 1 and frame is not None and is_users(frame)
        theirs = _alive(signum, self.theirs[signum])
        # In a loop: where thousands of pipelines are open, so many of these stand in a row.
        while isinstance(spared := _standing(theirs), Spared):
            spared.times += 1
            theirs = _alive(signum, spared.theirs[signum])
        # A handler may be called without a frame. Trio's then takes the place for one of its own.
        theirs(signum, frame if at_once else None)


def is_users(frame: FrameType) -> bool:
    """Whether what runs is neither the toolkit's, nor trio's, nor Python's own, which may be called by either."""
    package = _package(frame)
    return package not in OURS and package not in UNDERNEATH and package not in sys.stdlib_module_names


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def current_task() -> "asyncio.Task[object] | None":
    """The task of asyncio's that runs in this thread, if one does."""
    # Nothing of asyncio's runs where nobody has imported it; and it takes as long to import as trio's own core.
    current: Callable[[], asyncio.Task[object] | None] | None = getattr(
        sys.modules.get("asyncio"), "current_task", None
    )
    try:
        return None if current is None else current()
    except RuntimeError:
        return None
