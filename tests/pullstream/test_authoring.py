"""Third parties can do what adapters do: everything here is written with `pullstream` and `pullstream.authoring`."""

import inspect
import pickle
import re
from collections.abc import Callable
from typing import Annotated, Any

import pytest

import pullstream as ps
from pullstream import authoring
from pullstream.authoring import (
    Carries,
    Each,
    Handled,
    Instance,
    OneOf,
    PerBatch,
    Positive,
    Sync,
    Traits,
    catches,
    caught,
    checked,
    opens,
    together,
)


class _Numbers(ps.authoring.Kernel[int]):
    """Counts; a journal keeps its position."""

    traits = Traits(waits=False, carries=Carries.MEMORY)

    def __init__(self, until: int, step: int) -> None:
        self.until = until
        self.step = step
        self.at = 0

    def identity(self) -> object:
        return "numbers", self.until

    def restore(self) -> None:
        self.at = self.memory.get("at", 0)

    async def produce(self, limit: int) -> Any:
        if self.at >= self.until:
            return ps.DONE
        value, self.at = self.at, self.at + self.step
        self.memory.at(value)["at"] = self.at
        return ps.Batch(value, [value])


@ps.source
def numbers(until: Positive, *, step: Positive = 1) -> ps.Source[int]:
    """Count to `until`, each number at its own time."""
    return opens(_Numbers(until, step))


class _Halves(PerBatch):
    traits = Traits(waits=False, trusted=True)

    def __init__(self, function: Callable[[Any], Any], on_error: object) -> None:
        self.function = function
        self.catches = catches(on_error)

    def work(self, out: list[Any], time: Any, values: Any) -> None:
        for value in values:
            try:
                out.append(self.function(value))
            except Exception as exc:
                if not self.catches:
                    raise
                out.append(caught(value, exc))


@ps.transformer
def convert(
    function: Annotated[Callable[[Any], Any], Sync("it is called at once")], *, on_error: Handled = "fail"
) -> ps.Transformer[Any, Any]:
    """Apply a function, one value after another."""
    return opens(_Halves(function, on_error))


@ps.sink
async def gathered(
    upstream: ps.Reader[Any], ctx: ps.Context, *, how: Annotated[str, OneOf("list", "set")] = "list"
) -> Any:
    """Keep all values."""
    kept: list[Any] = []
    async for batch in ctx.batches(upstream):
        kept.extend(batch.values)
    return kept if how == "list" else set(kept)


@checked
def chained(*sources: Annotated[ps.Source[Any], Each(Instance(ps.Source, "chains sources"))]) -> ps.Source[Any]:
    return ps.concat(*sources)


def _one_end(call: authoring.Call) -> None:
    if (call["first"] is None) == (call["last"] is None):
        raise call.refuse("needs first= or last=")


@ps.transformer
@together(_one_end)
def end(*, first: Positive | None = None, last: Positive | None = None) -> ps.Transformer[Any, Any]:
    return opens(_Halves(lambda value: (first, last, value), "fail"))


def refused(compose: Callable[[], object]) -> str:
    with pytest.raises(ps.CompositionError) as caught_here:
        compose()
    return str(caught_here.value)


def test_a_source_resumes_where_it_was(tmp_path):
    path = tmp_path / "journal"
    seen: list[int] = []

    def stopping(value: int) -> None:
        seen.append(value)
        if seen == [0, 1, 2, 3]:
            raise OSError("power cut")

    pipeline = ps.pipe(numbers(6), ps.tap(stopping), gathered())
    with pytest.raises(OSError, match="power cut"):
        ps.run(pipeline, journal=path, limit=1)
    ps.run(pipeline, journal=path, limit=1)

    assert seen == [0, 1, 2, 3, 3, 4, 5]
    with pytest.raises(ps.errors.JournalError, match=re.escape("was numbers(6) and is now numbers(6, step=2)")):
        ps.run(ps.pipe(numbers(6, step=2), ps.tap(stopping), gathered()), journal=path)


@pytest.mark.parametrize("limit", [1, 7])
def test_a_transformer_has_an_error_policy(limit):
    texts = ps.values(["1", "x", "3"])
    seen: list[Any] = []

    assert ps.run(ps.pipe(texts, convert(int, on_error="skip"), gathered(how="set")), limit=limit) == {1, 3}
    one, failed, three = ps.run(ps.pipe(texts, convert(int, on_error="result"), gathered()), limit=limit)
    assert (one, failed.value, three) == (1, "x", 3)
    aside = ps.drain(lambda failed: seen.append(failed.value))
    assert ps.run(ps.pipe(texts, convert(int, on_error=aside), gathered()), limit=limit) == [1, 3]
    assert seen == ["x"]
    with pytest.raises(ValueError, match="invalid literal") as failure:
        ps.run(ps.pipe(texts, convert(int), gathered()), limit=limit)
    assert "raised in convert, composed at" in failure.value.__notes__[0]


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (lambda: numbers(0), ["numbers() at", __file__, "at least 1 for its argument 'until'", "got 0"]),
        (numbers, ["numbers() at", "needs the argument 'until'. Write numbers(until, step=...)"]),
        (lambda: numbers(1, until=2), ["numbers() at", "got 'until' twice, by position and by name"]),
        (lambda: convert(3), ["convert() at", "needs a callable for its argument 'function'", "3 (int)"]),
        (lambda: convert(int, on_error="no"), ["got on_error='no'", "'skip'", "or a sink"]),
        (lambda: gathered(how="heap"), ["got how='heap': it must be 'list' or 'set'"]),
        (lambda: chained(ps.values([1]), 3), ["chained() at", "chains sources, but got 3"]),
        (chained, ["chained() at", "needs at least one source"]),
        (lambda: end(first=1, last=2), ["end() at", "needs first= or last="]),
    ],
)
def test_wrong_arguments_are_refused_when_composing(compose, words):
    """The message names the module, the line, the argument and its value, also for calls that Python itself refuses."""
    message = refused(compose)

    assert [word for word in words if word not in message] == []


def test_repr_is_the_call_in_short():
    """Defaults are left out; positional arguments come first, however they were given."""
    assert repr(numbers(until=3, step=1)) == "numbers(3)"
    assert repr(numbers(3, step=2)) == "numbers(3, step=2)"
    assert repr(convert(int, on_error="skip")) == "convert(int, on_error='skip')"
    assert repr(ps.repeat("a", times=2)) == "repeat('a', 2)"
    assert repr(ps.batch(seconds=2)) == "batch(seconds=2)"


def test_a_module_can_be_compared_and_pickled():
    for made in (numbers(3), ps.map(str), ps.take(2), ps.values([1]), ps.collect(timed=True), ps.count_by_key()):
        again = made if made.modules[0].name == "numbers" else pickle.loads(pickle.dumps(made))
        assert again == made
    assert numbers(3) == numbers(until=3) != numbers(4)


def test_help_shows_arguments_and_results():
    """The checks beside the types are for the toolkit; a reader sees the types."""
    assert str(inspect.signature(numbers)) == "(until: int, *, step: int = 1) -> Source[int]"
    assert str(inspect.signature(gathered)).endswith("how: str = 'list') -> Sink")
    assert inspect.getdoc(convert) == "Apply a function, one value after another."
    assert inspect.unwrap(numbers) is not numbers


def test_string_annotations_are_read():
    """`from __future__ import annotations` turns annotations into strings; their checks still apply."""
    namespace: dict[str, Any] = {"__name__": "somewhere"}
    code = (
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "import pullstream as ps\n"
        "from pullstream.authoring import Positive, opens\n"
        "if TYPE_CHECKING:\n"
        "    from nowhere import Nothing\n"
        "@ps.transformer\n"
        "def few(count: Positive, *, other: Nothing | None = None) -> ps.Transformer[int, int]:\n"
        "    return opens(None)\n"
    )
    exec(compile(code, "somewhere.py", "exec", dont_inherit=True), namespace)

    assert "at least 1 for its argument 'count'" in refused(lambda: namespace["few"](0))
    assert repr(namespace["few"](2, other=3)) == "few(2, other=3)"


def test_composing_functions_need_an_annotation():
    """Without one it cannot be distinguished from a generator that lacks its yield."""

    def forgotten(number):
        return opens(_Numbers(number, 1))

    assert "-> ps.Source[...]" in refused(lambda: ps.source(forgotten))
    assert "-> ps.Transformer[...]" in refused(lambda: ps.transformer(forgotten))
    assert "-> ps.Sink[...]" in refused(lambda: ps.sink(forgotten))


def test_checked_functions_check_arguments():
    @checked
    def several(number: Positive, *names: str, **more: int) -> list[Any]:
        return [number, names, more]

    @checked
    def first(key: Positive, /, **more: int) -> list[Any]:
        return [key, more]

    assert several(2, "a", "b", c=3) == [2, ("a", "b"), {"c": 3}]
    assert first(1, key=2) == [1, {"key": 2}]
    assert "needs the argument 'key', which is given by position. Write first(key, name=...)" in refused(
        lambda: first(key=2)
    )
    assert "several() at" in refused(lambda: several(0))


def test_the_module_docstring_names_all_exports():
    named = set(re.findall(r"`(\w+)`", (authoring.__doc__ or "").partition("Composing and opening")[2]))

    assert named - {"on_error", "adapters", "opens"} <= {*authoring.__all__}
    assert {*authoring.__all__} <= named
