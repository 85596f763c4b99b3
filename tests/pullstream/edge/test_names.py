"""Attribute names belong to a module's author: the engine neither reads nor writes them."""

import attrs
import pytest

import pullstream as ps
from pullstream.authoring import Lane, Location, Traits
from pullstream.engine.edge.behaviour import Behaviour
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.kernel import GIVEN, METHODS
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.edge.requests import EdgeRequests
from pullstream.engine.interfaces import Finishing
from pullstream.engine.run import Run, Scope
from pullstream.resuming.interfaces import Outside, Resumable
from tests.pullstream.common import PassesOn, script


class Mine:
    """A value that only the module's author may use."""

    __isabstractmethod__ = False  # Python reads it from every class attribute

    def __bool__(self):
        raise AssertionError("the engine looked at it")

    __call__ = __iter__ = __len__ = __getattr__ = __eq__ = __lt__ = __hash__ = __bool__


def engine_names():
    """All public names of the engine: of its classes, its instances and its traits."""
    edges = []

    class Looking(PassesOn):
        def placed(self):
            edges.append(self.edge)

    ps.run(ps.pipe(ps.values([1]), ps.transformer(Looking)(), ps.collect()))
    (edge,) = edges
    used = [Edge, Behaviour, Lane, Location, EdgeRequests, Run, Scope, Finishing, Outside, Resumable, PolledKernel]
    names = (
        {name for each in used for name in dir(each)} | set(vars(edge)) | set(vars(edge.location)) | set(vars(edge.run))
    )
    names |= {field.name for field in attrs.fields(Traits)}
    return {name for name in names if not name.startswith("_")}


WHEN_MADE, WHILE_IT_RUNS = {*GIVEN, "traits"} - {"breathe"}, {"edge", "inputs", "memory"}
"""The names that a module may not set when it is made, and those it may not set while it runs."""


def refused(name, by):
    message = rf"^{by}.* defines '{name}', which in a module is .*: give it another name"
    return pytest.raises(ps.CompositionError, match=message)


async def produce(self, limit):
    upstream, location = self.mine
    batch = await upstream.ask(limit)
    if batch is ps.DONE:
        return ps.DONE
    location.hold(batch.time)
    location.drop(batch.time)
    return ps.Batch(batch.time, [value + 1 for value in batch.values])


def poll(self, limit):
    batch = self.mine[0].poll(limit)
    return ps.Batch(batch.time, [value + 1 for value in batch.values]) if isinstance(batch, ps.Batch) else batch


def through(base, *, begin=(), acquire=()):
    """A transformer that sets names on itself when it is made, and others in `acquire`."""

    def made(self):
        for name in begin:
            setattr(self, name, Mine())

    async def acquired(self):
        self.mine = self.upstream, self.location
        for name in acquire:
            setattr(self, name, Mine())

    method = poll if base is PolledKernel else produce
    return ps.transformer(type("Setting", (base,), {"__init__": made, "acquire": acquired, method.__name__: method}))()


def outcome(module, source=None, **options):
    source = source or ps.values(range(6), time=lambda n: n // 2)
    return ps.run(ps.pipe(source, module, ps.count_by_key(), ps.collect(timed=True)), limit=2, **options)


@pytest.mark.parametrize("check", [False, True])
def test_free_names_change_nothing(check):
    names = engine_names()
    free = dict.fromkeys(names - set(METHODS) - set(GIVEN) - {"traits"}, Mine())
    assert len(names) > 50
    for module in (
        through(ps.authoring.Kernel, begin=names - WHEN_MADE),
        through(ps.authoring.Kernel, acquire=names - WHILE_IT_RUNS),
        through(type("Named", (ps.authoring.Kernel,), free)),
    ):
        assert outcome(module, check=check) == outcome(through(ps.authoring.Kernel))
    for module in (
        through(PolledKernel, begin=names - WHEN_MADE),
        through(PolledKernel, acquire=names - WHILE_IT_RUNS),
    ):
        # After a source that waits, it is first awaited, and later wakes the module downstream, which has requests.
        twos = script(*(part for n in range(6) for part in (ps.Completed(n // 2), 0.0, ps.Batch(n // 2, [n]))))
        source = ps.pipe(twos, module)
        assert outcome(ps.map(lambda value: value), source, check=check) == outcome(through(ps.authoring.Kernel))


@pytest.mark.parametrize("name", sorted(WHEN_MADE | WHILE_IT_RUNS))
def test_other_names_are_refused(name):
    if name in WHEN_MADE:
        with refused(name, "Setting"):
            outcome(through(ps.authoring.Kernel, begin=[name]))
    if name in WHILE_IT_RUNS:
        with refused(name, "Setting"):
            outcome(through(ps.authoring.Kernel, acquire=[name]))
    if name in set(GIVEN) - set(METHODS):
        with refused(name, "Named"):
            type("Named", (ps.authoring.Kernel,), {name: Mine()})


@pytest.mark.parametrize("name", METHODS)
def test_a_non_method_with_a_method_s_name_is_refused(name):
    with pytest.raises(ps.CompositionError, match=f"^Named has a '{name}' that is not a method"):
        type("Named", (ps.authoring.Kernel,), {name: 7})
