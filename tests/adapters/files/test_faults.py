"""File systems for reading and writing fail at each operation in turn, in a run with a journal."""

import errno
import gzip
import json
from itertools import count

import fsspec
import pytest

pytest.importorskip("pyarrow")

import pullstream as ps
from adapters import files

from .writing.kit import left_behind
from .writing.test_urls import Faulty, store, stored

assert store


class FailingFile:
    """A file to read, each operation of which may fail."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def read(self, size=-1):
        Faulty.step("read a part")
        return self.file.read(size)

    def seek(self, *place):
        Faulty.step("seek")
        return self.file.seek(*place)

    def close(self):
        closed = self.file.closed
        self.file.close()
        if not closed:
            Faulty.step("close what was read")


class Failing:
    """A file system to read, each operation of which may fail; operations of writing are counted as well."""

    def __init__(self):
        self.fs = fsspec.filesystem("file")

    def __getattr__(self, name):
        return getattr(self.fs, name)

    def __repr__(self):
        return "Failing()"

    def open(self, path, mode):
        Faulty.step("open to read")
        return FailingFile(self.fs.open(path, mode))

    def info(self, path):
        Faulty.step("info to read")
        return self.fs.info(path)

    def find(self, path, **options):
        Faulty.step("find")
        return self.fs.find(path, **options)

    def glob(self, path, **options):
        Faulty.step("glob")
        return self.fs.glob(path, **options)


def put_data(folder):
    folder.mkdir()
    for name, days in (("a", (0, 1)), ("b", (1, 2, 3))):
        rows = [f"{day},{'xyz'[n % 3]},{n}\n" for day in days for n in range(12)]
        (folder / f"orders-{name}.csv").write_text("day,item,n\n" + "".join(rows))
    prices = [json.dumps({"day": day, "item": item, "price": day + 2}) for day in range(4) for item in "xyz"]
    (folder / "prices.jsonl.gz").write_bytes(gzip.compress("\n".join(prices).encode()))


def day(row):
    return row["day"]


def item(row):
    return row["item"]


def priced(pair):
    return {"day": pair[0]["day"], "item": pair[0]["item"], "sum": pair[0]["n"] * pair[1]["price"]}


def by_all(row):
    return row["item"], row["sum"]


def with_sum(total, row):
    return total + row["sum"]


def named(pair):
    return {"item": pair[0], "total": pair[1]}


def pipeline(data):
    """Files of two kinds, joined, to two stores; totals continue from day to day."""
    fs = Failing()
    orders = files.read_csv(data / "orders-*.csv", time="day", as_="dicts", block_size=100, filesystem=fs)
    prices = files.read_jsonl(data / "prices.jsonl.gz", time=day, filesystem=fs)
    rows = ps.pipe(ps.join(orders, prices, on=item), ps.map(priced), ps.sort_by_time(by_all))
    totals = ps.pipe(ps.accumulate(ps.Fold(int, with_sum), key=item), ps.map(named), ps.sort_by_time(item))
    return ps.pipe(
        rows,
        ps.tee(
            files.write_parquet("faulty://bucket/{time}/{key}.parquet", key="item"),
            ps.pipe(totals, files.write_jsonl("s3://bucket/totals/{time}.jsonl.gz")),
        ),
    )


@pytest.mark.parametrize("every", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_every_operation_fails_in_turn(every, store, tmp_path):
    """After each failure, the restarted run reaches the same result; nothing is left behind."""
    put_data(data := tmp_path / "data")
    result = ps.run(pipeline(data), limit=8)
    expected = stored()
    assert len(expected) == 4 * 3 + 4
    total, failed, seen = Faulty.number, 0, set()
    before = left_behind()
    for number in count(0, every):
        Faulty.store.clear()
        Faulty.seen.clear()
        Faulty.reset({number})
        journal = tmp_path / f"{number}.journal"
        try:
            ps.run(pipeline(data), journal=journal, limit=8)
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            failed += 1
        else:
            assert stored() == expected
            if Faulty.number <= number:
                break
        seen |= Faulty.seen
        assert left_behind() == before
        Faulty.reset()
        assert ps.run(pipeline(data), journal=journal, limit=8) == result
        assert stored() == expected
        assert left_behind() == before
        kept = {path.name for path in tmp_path.iterdir()} - {"data"}
        assert all(".journal" in name for name in kept), kept
    assert failed > 0.7 * total / every, (failed, total)
    assert seen >= {"open to read", "read a part", "close what was read", "glob", "open", "write", "rename", "put"}
