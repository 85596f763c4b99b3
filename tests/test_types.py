"""Four type checkers infer what the programs of the README and of the pages mean, and what `typed_pipes` asserts.

They see the package as a user's program does, from a folder of its own and through the environment it is installed in.
What one of them cannot infer of `typed_pipes` stands in `tests/types`, a file for each, so that it is noticed when that
changes: for the better as well. `python tests/test_types.py` writes these files anew.
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
"""What mypy's strict mode says of functions that a program leaves without annotations: that is its author's choice."""

COMMANDS = {
    "mypy": ["--strict", "--config-file=", "--output=json", "--follow-imports=silent", "--python-executable"],
    "basedpyright": ["--outputjson", "--pythonpath"],
    "pyrefly": ["check", "--preset=default", "--output-format=json", "--python-interpreter-path"],
    "ty": ["check", "--output-format=concise", "--python"],
}


def findings(checker, folder, *options):
    """What a type checker says of the files of a folder: a sorted list of "file: kind: message"."""
    found = shutil.which(checker, path=str(Path(sys.executable).parent)) or shutil.which(checker)
    if found is None:
        pytest.skip(f"{checker} is not installed")
    command = [found, *COMMANDS[checker], sys.executable, *options, "."]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    return sorted(
        f"{Path(path).name}: {kind}: {message.splitlines()[0]}" for path, kind, message in READ[checker](said)
    )


def read_mypy(said):
    lines = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("{")]
    return [(each["file"], each["code"], each["message"]) for each in lines if each["severity"] == "error"]


def read_basedpyright(said):
    told = json.loads(said.stdout)["generalDiagnostics"]
    return [(each["file"], each.get("rule", ""), each["message"]) for each in told if each["severity"] == "error"]


def read_pyrefly(said):
    return [(each["path"], each["name"], each["description"]) for each in json.loads(said.stdout)["errors"]]


def read_ty(said):
    return re.findall(r"^(.*?\.py):\d+:\d+: error\[([\w-]+)\] (.*)$", said.stdout, re.MULTILINE)


READ = {"mypy": read_mypy, "basedpyright": read_basedpyright, "pyrefly": read_pyrefly, "ty": read_ty}


def write_programs(folder):
    """Write every program of the pages to a file of its own."""
    for page in PAGES:
        for number, program in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1):
            (folder / f"{page.stem}_{number}.py").write_text(program)


def of_programs(checker, folder):
    write_programs(folder)
    # Programs of a page are not annotated: that nothing wrong is said of them is what is asked.
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    options = [f"--disable-error-code={code}" for code in UNTYPED] if checker == "mypy" else []
    return findings(checker, folder, *options)


def of_pipes(checker, folder):
    shutil.copy(PIPES, folder)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    return findings(checker, folder)


@pytest.mark.parametrize(
    "checker", [pytest.param(name, marks=pytest.mark.slow if name != "pyrefly" else ()) for name in COMMANDS]
)
def test_types_of_pipes_are_inferred(checker, tmp_path):
    """Every assertion of `typed_pipes` holds, and what is refused is, but for what is known."""
    assert of_pipes(checker, tmp_path) == (KNOWN / f"{checker}.txt").read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("checker", COMMANDS)
def test_nothing_wrong_is_said_of_a_program(checker, tmp_path):
    """The programs of the README and of the pages have no error."""
    assert of_programs(checker, tmp_path) == []


if __name__ == "__main__":
    import tempfile

    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            (KNOWN / f"{name}.txt").write_text("".join(f"{line}\n" for line in of_pipes(name, Path(folder))))
