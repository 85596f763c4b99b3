"""Bad rows can be written to a file, as lines to inspect."""

import json

import pullstream as ps
from adapters import files


def test_bad_rows_as_json_lines(tmp_path):
    """A bad value is written with its text and its error."""
    (tmp_path / "in.csv").write_text("item,n\ntea,1\nrice,2,3\n")
    bad = files.write_jsonl(tmp_path / "bad-{time}.jsonl")
    ps.run(ps.pipe(files.read_csv(tmp_path / "in.csv", on_error=bad), ps.drain()))
    (line,) = (tmp_path / "bad-0.jsonl").read_text().splitlines()
    message = json.loads(line)
    assert message["value"].startswith("rice,2,3")
    assert "in.csv:3" in message["error"]
