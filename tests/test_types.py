"""Four type checkers infer the types in programs of README and the pages, and the types that `typed_pipes` asserts.

They see the package as a user's program does, from another folder and through the environment it is installed in.
A line of `typed_pipes` marked `# refused` is wrong on purpose, and every checker must report it. The gaps of each
checker in the other lines are listed in a file in `tests/types`, so that any change is noticed, even an improvement.
`python tests/test_types.py` rewrites these files.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "tutorials" / "site").rglob("*.md"))]
PIPES = ROOT / "tests" / "pullstream" / "typed_pipes.py"
KNOWN = ROOT / "tests" / "types"

UNTYPED = ["no-untyped-def", "no-untyped-call", "type-arg", "var-annotated"]
"""Findings of mypy's strict mode for functions without annotations, which are the author's choice."""

COMMANDS = {
    "mypy": ["--strict", "--config-file=", "--output=json", "--follow-imports=silent", "--python-executable"],
    "basedpyright": ["--outputjson", "--pythonpath"],
    "pyrefly": ["check", "--preset=default", "--output-format=json", "--python-interpreter-path"],
    "ty": ["check", "--output-format=concise", "--python"],
}


def findings(checker, folder):
    """A type checker's findings in a folder: sorted pairs of "file: kind: message" and line number."""
    found = shutil.which(checker, path=str(Path(sys.executable).parent)) or shutil.which(checker)
    if found is None:
        pytest.skip(f"{checker} is not installed")
    command = [found, *COMMANDS[checker], sys.executable, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    return sorted(
        (f"{Path(path).name}: {kind}: {message.splitlines()[0]}", line)
        for path, line, kind, message in READ[checker](done)
    )


def read_mypy(done):
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    errors = [each for each in lines if each["severity"] == "error"]
    return [(each["file"], each["line"], each["code"], each["message"]) for each in errors]


def read_basedpyright(done):
    errors = json.loads(done.stdout)["generalDiagnostics"]
    return [
        (each["file"], each["range"]["start"]["line"] + 1, each.get("rule", ""), each["message"])
        for each in errors
        if each["severity"] == "error"
    ]


def read_pyrefly(done):
    errors = json.loads(done.stdout)["errors"]
    return [(each["path"], each["line"], each["name"], each["description"]) for each in errors]


def read_ty(done):
    errors = re.findall(r"^(.*?\.py):(\d+):\d+: error\[([\w-]+)\] (.*)$", done.stdout, re.MULTILINE)
    return [(path, int(line), kind, message) for path, line, kind, message in errors]


READ = {"mypy": read_mypy, "basedpyright": read_basedpyright, "pyrefly": read_pyrefly, "ty": read_ty}


def write_programs(folder):
    """Write `typed_pipes` and every program of the pages to separate files; return the folder."""
    for page in PAGES:
        for number, program in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1):
            (folder / f"{page.stem}_{number}.py").write_text(program)
    # The check of the packages ignores these findings, but this test looks for them.
    shown = re.sub(r"# pyright: ignore(\[.*?\])?", "", PIPES.read_text())
    (folder / PIPES.name).write_text(f"{shown}\n# pyright: strict\n")
    # Programs on pages have no annotations, so strict mode would report them all.
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    return folder


def of_programs(found):
    errors = [text for text, _ in found if not text.startswith(PIPES.name)]
    return [text for text in errors if text.split(": ")[1] not in UNTYPED]


def of_pipes(found):
    """The findings in the right lines of `typed_pipes`, and the wrong lines without a finding."""
    lines = PIPES.read_text().splitlines()
    refused = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    assert refused, "lines are marked"
    found = [(text, line) for text, line in found if text.startswith(PIPES.name)]
    unnoticed = refused - {line for _, line in found}
    return [text for text, line in found if line not in refused], [lines[number - 1] for number in sorted(unnoticed)]


@pytest.fixture(scope="module", params=COMMANDS)
def checked(request, tmp_path_factory):
    """A type checker and its findings."""
    return request.param, findings(request.param, write_programs(tmp_path_factory.mktemp("programs")))


@pytest.mark.slow
def test_types_of_pipes_are_inferred(checked):
    """Every assertion of `typed_pipes` holds, except for known gaps; all wrong lines are reported."""
    checker, found = checked
    gaps, unnoticed = of_pipes(found)
    assert unnoticed == []
    assert gaps == (KNOWN / f"{checker}.txt").read_text().splitlines()


@pytest.mark.slow
def test_programs_have_no_findings(checked):
    assert of_programs(checked[1]) == []


if __name__ == "__main__":
    import tempfile

    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            gaps, _ = of_pipes(findings(name, write_programs(Path(folder))))
            (KNOWN / f"{name}.txt").write_text("".join(f"{line}\n" for line in gaps))
