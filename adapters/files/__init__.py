r"""Files: one per completed time, whole or not at all.

>>> import tempfile, pathlib, pullstream as ps
>>> from adapters import files
>>> with tempfile.TemporaryDirectory() as folder:
...     days = ps.values([{"day": 1, "n": 5}, {"day": 2, "n": 7}], time=lambda row: row["day"])
...     paths = ps.run(ps.pipe(days, files.write_jsonl(f"{folder}/{{time}}.jsonl")))
...     [(path.name, path.read_text()) for path in paths]
[('1.jsonl', '{"day": 1, "n": 5}\n'), ('2.jsonl', '{"day": 2, "n": 7}\n')]
"""

from adapters.files.writing.jsonl import write_jsonl
from adapters.files.writing.whole import FileTargetError

__all__ = ["FileTargetError", "write_jsonl"]
