"""Code for the executors: a function that contains its work as bytes, and the packages themselves if needed."""

import atexit
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pullstream import CompositionError
from pullstream.authoring import Module
from pullstream.timely import Antichain

from ...arrow import RecordBatch
from ..types import SparkSession, pyspark

_PACKAGES = dict.fromkeys(made.partition(".")[0] for made in (Module.__module__, Antichain.__module__, __name__))
"""The packages of the toolkit: one if it is installed, three in a checkout."""

_CHECKOUT = str(Path(__file__).parents[3]) if len(_PACKAGES) > 1 else None
"""The folder of the checkout, if this is one."""


def shipped(pickled: bytes, module: str = "partition") -> Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]:
    """The function that executors run, which is `run` of a module beside this one.

    It is an inner function, because inner functions are pickled by value and need no installation on the executor.
    """
    begin = _beginning()

    def on_executor(batches: Iterator[RecordBatch]) -> Generator[RecordBatch]:
        results: Generator[RecordBatch, None, BaseException | None] = begin(module, "run", pickled, batches)
        failure = yield from results
        if failure is not None:
            raise failure

    return on_executor


def keyed(pickled: bytes) -> Any:
    """The class of Spark's `StatefulProcessor` that executors run; an inner class, as above."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: PLC0415 - an optional dependency

    begin = _beginning()

    class OnExecutor(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._streams = begin("keyed", "KeyedStreams", pickled, handle)

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: N802, N803 - Spark's names
            return self._given(*self._streams.take(key, rows, timerValues.getCurrentWatermarkInMs()))

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:  # noqa: ARG002, N802, N803
            return self._given(*self._streams.wake(key, timerValues.getCurrentWatermarkInMs()))

        def _given(self, rows: Any, failure: BaseException | None) -> Any:
            if failure is not None:
                raise failure
            return iter(rows)

        def close(self) -> None:
            self._streams.close()

    return OnExecutor()


def _beginning() -> Callable[..., Any]:
    """A function that calls a function of this package on an executor, or reports what is missing there."""
    here, packages, checkout = __package__, tuple(_PACKAGES), _CHECKOUT

    def begin(module: str, name: str, *given: object) -> Any:
        import sys  # noqa: PLC0415 - a function pickled by value has no module
        from importlib import import_module  # noqa: PLC0415
        from importlib.util import find_spec  # noqa: PLC0415

        if checkout is not None and any(find_spec(name) is None for name in packages):
            # Workers on this machine may find an installed toolkit, a single package, instead of the checkout.
            sys.path.insert(0, checkout)
        try:
            return getattr(import_module(f"{here}.{module}"), name)(*given)
        except ModuleNotFoundError as exc:
            ours = (exc.name or "").partition(".")[0] in packages
            raise ModuleNotFoundError(
                f"{exc} on this executor ({sys.executable}). "
                + (
                    "Blueprints run in Spark's Python workers: install pullstream in the workers' Python "
                    "(PYSPARK_PYTHON), or send it with spark.send_packages(session)"
                    if ours
                    else "Install it in the Python of Spark's workers (PYSPARK_PYTHON), or, if it is your own "
                    "module, send it with session.addArtifacts(path, pyfile=True)"
                ),
                name=exc.name,
            ) from None

    return begin


def pickled(modules: tuple[Module, ...], what: object) -> bytes:
    """Pickle `what`; functions that cannot be imported are pickled by value. Errors name one of the modules."""
    dumps: Callable[[object], bytes] = pyspark.cloudpickle.dumps
    for module in modules:
        try:
            dumps(module)
        except Exception as exc:
            raise CompositionError(
                f"{module}, composed at {module.site}, cannot be sent to the executors: {exc}. Create resources "
                f"inside its functions, which must not hold files, connections, locks or DataFrames"
            ) from exc
    return dumps(what)


def send_packages(session: "SparkSession") -> None:
    """Send this toolkit's own packages to the executors of a cluster where it is not installed.

    They are sent as a zip file. Their dependencies are not sent: attrs, more-itertools, trio, typing-extensions and
    pyarrow must be installed there. Executors that use the driver's Python have everything.

    ```python
    session = spark.session(master="spark://head:7077")
    spark.send_packages(session)
    ```
    """
    session.addArtifacts(str(_archive()), pyfile=True)


@cache
def _archive() -> Path:
    """The packages in a zip file, kept as long as this program runs: executors fetch it when they start."""
    folder = Path(tempfile.mkdtemp(prefix="pullstream-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "pullstream_packages.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _PACKAGES:
            top = Path(str(import_module(name).__file__)).parent
            for file in sorted(top.rglob("*.py")):
                archive.write(file, Path(name) / file.relative_to(top))
    return path
