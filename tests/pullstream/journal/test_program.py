"""Which programs count as the same for a journal."""

import re
import textwrap

import pytest

import pullstream as ps
from pullstream.journal.program import difference, fingerprint
from tests.programs import ROOT, printed
from tests.pullstream.journal.test_resume import numbers, run_until, stopping_at

HEAD = """
import abc, dataclasses, datetime, decimal, enum, functools, operator, pathlib, re, threading, trio, types, typing
import attrs, pullstream as ps
from adapters import files
"""


def composed(text, above=0):
    """The fingerprint of a program with `above` lines before it; by default it maps by its last line."""
    names = {"__name__": "a_program"}
    text = textwrap.dedent(text)
    if "stage =" not in text:
        text = re.sub(r".*\Z", lambda last: f"stage = ps.map({last[0]})", text, count=1)
    exec(compile("\n" * above + HEAD + text, "a_program.py", "exec"), names)
    return fingerprint(ps.pipe(ps.values([1]), names["stage"], ps.drain()))


LOCKS = "lock, event = threading.Lock(), trio.Event()\ndef f(own): return lambda n: (own, event)\n"

SAME = {
    "joined lines": (
        """
        def f(n):
            m = n; k = m
            return k + m
        stage = ps.map(f)
        """,
        """
        def f(n):
            m = n
            k = m
            return (
                k
                + m
            )
        stage = ps.map(f)
        """,
    ),
    "comments, docstrings, blank lines and annotations": (
        """
        def f(n):
            if n > 2: return n * 3
            try:
                return [m for m in range(n)]
            except ValueError:
                pass
        stage = ps.map(f)
        """,
        '''
        def f(n: int) -> object:
            """What it does."""
            # why

            if n > 2:
                return n * 3
            try:
                # a comment

                return [
                    m
                    for m in range(n)
                ]
            except ValueError:
                # and another
                pass
        stage = ps.map(
            f,
        )
        ''',
    ),
    "a global collection": (
        "seen = []\ndef f(n): seen.append(n)\nstage = ps.tap(f)",
        "seen = [1]\ndef f(n): seen.append(n)\nstage = ps.tap(f)",
    ),
    "a global object's state": (
        "class A: k = 1\na = A()\nstage = ps.tap(lambda n: a.k)",
        "class A: k = 1\na = A()\na.k = 2\nstage = ps.tap(lambda n: a.k)",
    ),
    "classes with generated code": (
        "class N(typing.NamedTuple):\n    a: int = 1\n@attrs.define\nclass A:\n    a: int = 1\n"
        "@dataclasses.dataclass\nclass D(typing.Generic[typing.TypeVar('T')]):\n    a: int = 1\n"
        "class P(typing.Protocol): ...\nclass C(abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\n"
        "    lock = threading.Lock()\nlambda n: (N, A, D, P, C)"
    ),
    "a filled list": ("out = []\nstage = ps.tap(out.append)", "out = [1]\nstage = ps.tap(out.append)"),
    "locks and events": (f"{LOCKS}f(lock)", f"{LOCKS}event.set()\nf(lock)"),
    "a class and its method that names it": "class A:\n    def f(self): return A()\nlambda n: A().f()",
    "a cache": (
        "@functools.lru_cache\ndef f(n): return n\nf(1)\nf",
        "@functools.lru_cache\ndef f(n): return n\nf",
    ),
    "handles and channels": """
        pushed, added, news = ps.pushable(9), ps.dynamic_merge(), ps.broadcast(9).listen()
        (source, _), (_, channel) = ps.duplex.pair(), trio.open_memory_channel(0)
        awaited = ps.from_channel(channel), ps.from_callback(print)
        def f(n): return ps.merge(source, pushed, added, news, *awaited)
        stage = ps.pipe(ps.pausable(), ps.abortable(), ps.map(f), ps.flatten())
        """,
    "modules inside others": """
        numbers = ps.values(range(9), time=int)
        aside = ps.pipe(ps.map(repr), ps.drain(print))
        whole = ps.map(int, on_error=aside).named('whole')
        stage = ps.pipe(
            ps.loop(ps.pipe(whole, ps.take(3)), capacity=10), ps.fork(whole, ps.in_flight(whole, 3)),
            ps.worker_pool(whole, ps.map(abs)), ps.group_by(int, lambda key: whole),
            ps.stamp(int, lateness=1, late=aside),
            ps.catch(lambda exc: ps.retry(ps.merge(numbers, ps.zip(numbers, files.read_csv('*.csv')))))
        )
        """,
    "single dispatch": "@functools.singledispatch\ndef f(n): return n\n@f.register(int)\ndef _(n): return 2\nf",
}
"""Programs that stay the same a few lines lower, and pairs of equal programs."""

OTHER = {
    "a lambda's call": ("lambda n: n?", ".a", ".b"),
    "zeros": ("lambda n: ?0.0", "", "-"),
    "types of ones": ("lambda n: ?", "1", "True"),
    "a branch": ("def f(n):\n    if ?: return 1\n    return 2\nf", "n", "not n"),
    "a try block": (
        "def f(n):\n    ?\n        b()\n    except E:\n        pass\nf",
        "a()\n    try:",
        "try:\n        a()",
    ),
    "a default": "def f(n, k=?): return n * k\nf",
    "a keyword's default": "def f(n, *, k=?): return n * k\nf",
    "a list in a closure": ("def of(k): return lambda n: k[n]\nof([1, ?])", "2", "3"),
    "a helper behind a comprehension": "def g(n): return n + ?\nlambda n: [g(m) for m in n]",
    "the names of a call's arguments": ("lambda n: dict(?=n)", "a", "b"),
    "a helper in a package's module": (
        "p = types.ModuleType('p'); p.sub = types.ModuleType('p.sub')\n"
        "def g(n): return n + ?\np.sub.g = g; del g\nlambda n: p.sub.g(n)"
    ),
    "a method of a global object": "class A:\n    def f(self, n): return n + ?\na = A()\nlambda n: a.f(n)",
    "a constant of several parts": ("K = (1, {}, ?)[::2]\nlambda n: n * K", "2", "3"),
    "a pattern": ("K = re.compile('?')\nlambda n: K.match(n)", "a", "b"),
    "a callable object": "class A:\n    def __call__(self, n): return n + ?\nA()",
    "a base's method": (
        "class B:\n    def g(self, n): return n + ?\nclass A(B): __call__ = lambda self, n: self.g(n)\nA()"
    ),
    "an object with slots": "@attrs.frozen\nclass A:\n    k: int\n    def __call__(self, n): return n\nA(?)",
    "a data class": "@dataclasses.dataclass\nclass A:\n    k: list\n    def f(self, n): return n\nA([?]).f",
    "a bound method": "class A:\n    def __init__(self, k): self.k = k\n    def f(self, n): return n\nA(?).f",
    "a property": "class A:\n    @property\n    def k(self): return ?\nlambda n: A().k",
    "a cached property": "class A:\n    @functools.cached_property\n    def k(self): return ?\nlambda n: A().k",
    "a partial method": (
        "class A:\n    def f(self, k): return k\n    g = functools.partialmethod(f, ?)\nlambda n: A().g()"
    ),
    "a metaclass": "class M(type):\n    def __call__(cls, n): return ?\nclass A(metaclass=M): ...\nA",
    "an enumeration": "class E(enum.Enum): A = ?\nlambda n: E.A",
    "a dict's lookup": ("{'tea': ?}.get", "3", "4"),
    "a partial": "functools.partial(max, ?)",
    "a wrapped function": (
        "def w(f):\n    @functools.wraps(f)\n    def g(n): return f(n)\n    return g\n@w\ndef f(n): return ?\nf"
    ),
    "an aggregate's function": ("stage = ps.scan(ps.agg.sum(lambda n: ?n))", "", "-"),
    "a custom transformer": "@ps.transformer\nasync def t(upstream, ctx):\n    yield ?\nstage = t()",
    "a custom kernel": (
        "@ps.transformer\nclass T(ps.authoring.Kernel):\n    async def produce(self, limit): return ?\nstage = T()"
    ),
    "a module inside another": "stage = ps.group_by(str, ps.pipe(ps.map(lambda n: n + ?), ps.take(1)))",
    "a source inside a function": "inner = ps.values([?])\nstage = ps.flat_map(lambda n: inner)",
    "a policy": ("stage = ps.map(int?)", "", ", on_error='skip'"),
    "a name": ("stage = ps.map(int)?", "", ".named('n')"),
    "an option": ("stage = ps.map_async(trio.sleep, ?)", "2", "3"),
}
"""Programs with a question mark, and its two replacements; by default 1 and 2."""


@pytest.mark.parametrize("name", SAME)
def test_same_programs(name):
    before, now = [SAME[name]] * 2 if isinstance(SAME[name], str) else SAME[name]
    assert difference(composed(before), composed(now, above=7)) == ""
    assert not any(line.unknown for line in composed(now).values())


@pytest.mark.parametrize("name", OTHER)
def test_different_programs(name):
    text, *variants = [OTHER[name], "1", "2"] if isinstance(OTHER[name], str) else OTHER[name]
    before, now = (text.replace("?", variant) for variant in variants)
    assert difference(composed(before), composed(before, above=3)) == ""
    assert "module 2" in difference(composed(before), composed(now))


def multiples(k):
    return (n * k for n in range(3))


def values(given, **options):
    return fingerprint(ps.pipe(ps.values(given, **options), ps.drain()))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([1] * 1000 + [1], [1] * 1000 + [2]),
        (["a" * 1000 + "b"], ["a" * 1000 + "c"]),
        ([{"n": n} for n in range(300)], [{"n": n + (n == 299)} for n in range(300)]),
        (dict.fromkeys(range(300), 1), {n: 1 + (n == 299) for n in range(300)}),
        ((n for n in [1]), (n + 1 for n in [1])),
        (multiples(2), multiples(3)),
        (iter([1, 2]), iter([1, 3])),
        (map(abs, [1]), map(abs, [2])),
        (range(5), range(6)),
    ],
)
def test_an_input_is_compared_whole(before, now):
    """Also if it is long, and if it can be read only once."""
    assert difference(values(before), values(before)) == ""
    assert "module 1" in difference(values(before), values(now))


def test_sharing_does_not_change_equal_values():
    text, other = (str(10**20) for _ in range(2))
    assert text is not other
    shared, apart = [text, text], [text, other]
    assert difference(values(shared), values(apart)) == ""


def test_changes_are_described():
    def times(k):
        return lambda n: n * k

    def of(function):
        return fingerprint(ps.pipe(ps.values([1]), ps.map(function), ps.drain()))

    text = difference(of(times(2)), of(times(3)))
    assert text.endswith("looks the same but has changed: k (referred to by <lambda>) was 2 and is now 3")
    text = difference(of(lambda n: n), of(lambda n: -n))
    assert text == "module 2, map(<lambda>), looks the same but has changed: the code of <lambda> has changed"


def test_a_fingerprint_is_the_same_in_another_process(tmp_path):
    program = f"""
import pickle, sys
{HEAD}
class A:
    def __init__(self): self.names = {{"tea", "rice", "salt", "pepper"}}
    def __call__(self, n): return n in {{"a", "b", "c", "d"}} or self
stage = ps.pipe(ps.map(A()), ps.filter(frozenset("abcdef").__contains__), ps.map(lambda n: [threading.Lock(), n]))
from pullstream.journal.program import fingerprint
lines = fingerprint(ps.pipe(ps.values([{{"x", "y", "z"}}]), stage, ps.drain()))
print([(place, line.shown, line.digest, line.names) for place, line in lines.items()])
"""
    (tmp_path / "program.py").write_text(program)
    settings = [{"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    assert len({printed(tmp_path / "program.py", env=each) for each in settings}) == 1


# ---- with a journal


def halves(stage, path, journals, first=None):
    """Run until the middle, then resume with a stage."""
    for given, at, journal in ((first or stage, 7, journals[0]), (stage, None, journals[-1])):
        result = run_until(pipeline_of(given, at), ps.Journal(path, version=journal))
    return result


def pipeline_of(stage, at=None):
    return ps.pipe(numbers(), ps.map(stopping_at(at)), stage, ps.collect())


MINE, MENDED = ps.map(lambda n: n + 1), ps.map(lambda n: n + 2)


def test_a_changed_program_needs_a_new_version(path):
    with pytest.raises(
        ps.errors.JournalError, match=r"the code of <lambda> has changed.*ps\.Journal\('.*run\.journal', version="
    ):
        halves(MENDED, path, [None], first=MINE)
    assert ps.run(pipeline_of(MENDED), journal=ps.Journal(path, version="mended")) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]


def test_another_version_is_refused(path):
    with pytest.raises(ps.errors.JournalError, match="written by version '1' of the program, but this is version '2'"):
        halves(MINE, path, ["1", "2"])


def test_the_same_version_is_the_same_program(path):
    """Later runs without a version are compared with the program that was accepted."""
    assert halves(MENDED, path, ["1"], first=MINE) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    with pytest.raises(ps.errors.JournalError, match="module 3 was map"):
        halves(ps.filter(lambda n: n), path, ["1"])
    assert halves(MENDED, path, [None]) == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11]
    with pytest.raises(ps.errors.JournalError, match="the code of <lambda> has changed"):
        halves(MINE, path, [None])


class Client:
    """Something that belongs to a process."""

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot pickle a connection")


def test_incomparable_objects_are_refused_at_once(path):
    def asks(client):
        return lambda n: (client, n)[1]

    refused = r"module 3, map\(<lambda>\), composed at .*test_program.py.*Client.*Give the program a version"
    with pytest.raises(ps.errors.JournalError, match=refused):
        halves(ps.map(asks(Client())), path, [None])
    assert halves(ps.map(asks(Client())), path, ["1"], first=ps.map(asks(Client()))) == list(range(10))


def test_state_of_the_same_object_may_change(path):
    """A run changes its functions' objects; with the same object, it is still the same program."""

    class Counting:
        def __init__(self):
            self.seen = 0

        def count(self, n):
            self.seen += 1
            return n

    counting = Counting()
    assert halves(ps.map(counting.count), path, [None]) == list(range(10))
    assert counting.seen > 10


def test_another_python_needs_a_version(path, monkeypatch):
    """Functions cannot be compared across versions of Python."""
    from pullstream.journal import program

    with monkeypatch.context() as patched:
        patched.setattr(program, "PYTHON", "cpython 3.99")
        assert run_until(pipeline_of(MINE, 7), path) is None
    refused = "was written under cpython 3.99, but this is .*give the program a version"
    with pytest.raises(ps.errors.JournalError, match=refused):
        ps.run(pipeline_of(MINE), journal=path)
    assert halves(MINE, path, ["1"]) == list(range(1, 11))


def test_handles_are_compared_by_repr():
    """A handle whose repr shows its contents changes with them; its process does not matter."""
    from adapters.spark.reading.timed import TimedFrame

    def of(**given):
        handle = object.__new__(TimedFrame)
        for name, value in {"names": ("day",), "time": None, **given}.items():
            object.__setattr__(handle, name, value)
        return fingerprint(ps.pipe(ps.values([1]), ps.map(handle.__repr__), ps.drain()))

    assert difference(of(), of()) == ""
    assert "module 2" in difference(of(), of(time="hour"))
