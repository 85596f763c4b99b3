"""Late rows: an error, dropped, or passed to a sink of their own; they stay in columns."""

from typing import Any, cast

import attrs
from typing_extensions import override

from pullstream import Batch, Sink
from pullstream.authoring import Assembly, Branch, Call, Hub, Kernel, Module, Wiring

from ..arrow import ArrowRows


class LateRows(ArrowRows):
    """Late rows on their way to the sink for them."""


class LateOption:
    """The check of `late=`. A sink for late rows is added right below the module."""

    def __call__(self, call: Call, late: Any) -> Any:
        """Return the option, or refuse it."""
        if late not in ("error", "drop") and not isinstance(late, Sink):
            raise call.refuse(f"got late={late!r}: it must be 'error', 'drop' or a sink")
        return cast("Any", late)

    def below(self, module: Module, late: Any) -> tuple[Module, ...]:
        """Give the module that passes late rows to the sink."""
        return () if isinstance(late, str) else (Module("late", LateBranch, (late,), site=module.site, follows=True),)


@attrs.frozen(eq=False)
class LateBranch(Wiring):
    """The wiring of the sink for late rows beside the main branch."""

    sink: Any

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        assert upstream is not None, "late rows come from somewhere"
        hub = _LateHub(assembly, module, upstream)
        assembly.beside.append(assembly.sink(self.sink, hub.side))
        return hub.main


class _LateHub(Hub):
    def __init__(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> None:
        super().__init__(assembly, module, f"into {module.name}", upstream)
        self.main: Branch = self.branch(module.name)
        self.side: Branch = self.branch(f"{module.name}[aside]")

    @override
    def needed(self) -> bool:
        return self.main in self.branches

    @override
    def room(self) -> int:
        return 0 if self.side.kept and self.side in self.branches else self.main.wanted

    @override
    def deal(self, batch: Batch[Any]) -> Any:
        values = batch.values
        if not isinstance(values, LateRows):
            yield self.main, batch
            return
        rows = ArrowRows(values.batch, values.form)
        yield self.side, Batch(batch.time, rows) if batch.uniform else Batch.of(batch.times, rows)
