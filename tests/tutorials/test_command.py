"""`python -m pullstream learn`, as its users run it: with and without a terminal."""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import zlib
from base64 import b64decode
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO

import pytest

from tests.programs import printed, started
from tests.tutorials.patches import answer_named
from tutorials.command import commands
from tutorials.command.line import main
from tutorials.command.terminal import show
from tutorials.exercises import EXERCISES, exercise_named

TEMPLATE = exercise_named("take_while").template.read_text()
SOLUTION = exercise_named("take_while").solution.read_text()
COMMAND = ["-m", "pullstream", "learn"]


def environment(**others):
    return {**os.environ, "TERM": "xterm", **others}


@pytest.fixture
def tutorials(tmp_path, monkeypatch):
    """Run a command in this process, because a program takes a second to start."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main(arguments)
            except SystemExit as exit:
                code = exit.code
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    return run


class Terminal:
    """A command in a terminal, to type at and to read from."""

    def __init__(self, folder, *arguments):
        self.shown, self.read = "", 0
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, *COMMAND, *arguments], environment(COLUMNS="80", NO_COLOR="1"))

    def type(self, keys):
        os.write(self.end, keys.encode())

    def until(self, text):
        """Read until a text appears after the text that was read before."""
        while (found := self.shown.find(text, self.read)) < 0:
            assert select.select([self.end], [], [], 300)[0], self.shown
            self.shown += os.read(self.end, 65536).decode()
        self.read = found + len(text)

    def ended(self):
        """Read to the end of the command; return its exit code."""
        with suppress(OSError):  # Linux raises it when the other end is closed
            while chunk := os.read(self.end, 65536):
                self.shown += chunk.decode()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.end)
        assert "Traceback" not in self.shown
        return os.waitstatus_to_exitcode(status)


def test_from_the_first_command_to_a_right_answer(tutorials, tmp_path):
    assert "learn start" in tutorials().stdout
    printed(*COMMAND, "start", cwd=tmp_path, env=environment())
    assert (tmp_path / "answers" / "take_while.py").read_text() == TEMPLATE
    assert (tmp_path / "answers" / "README.md").exists()

    assert tutorials("next").stdout.startswith("0.1 ")
    wrong = tutorials("check", "take_while")
    assert (wrong.returncode, wrong.stdout.splitlines()[0]) == (1, "wrong: 4.1 take_while")
    assert "  answers/take_while.py:15" in wrong.stdout
    assert wrong.stdout.endswith("   hint: python -m pullstream learn hint\n")
    assert tutorials("hint").stdout.startswith("hint 1 of 3")
    assert tutorials("hint").stdout.startswith("hint 2 of 3")
    refused = tutorials("solution", "take_while")
    assert (refused.returncode, refused.stdout) == (2, "")

    (tmp_path / "answers" / "take_while.py").write_text(SOLUTION)
    right = tutorials("check")
    assert (right.returncode, right.stdout) == (0, "right: 4.1 take_while\n")
    assert "done  4.1 take_while" in tutorials("list").stdout
    assert "Others got it wrong" in tutorials("solution", "take_while").stdout
    assert tutorials("next").stdout.startswith("4.2 ")
    assert tutorials("next").stdout.startswith("4.2 ")
    assert tutorials("next", "--skip").stdout.startswith("4.3 ")
    assert f"1 of {len(EXERCISES)}" in tutorials().stdout


def test_start_and_reset_lose_nothing(tutorials, tmp_path):
    tutorials("start")
    answer = tmp_path / "answers" / "take_while.py"
    answer.write_text("mine")
    tutorials("start")
    assert answer.read_text() == "mine"
    assert tutorials("reset", "take_while").returncode == 0
    assert answer.read_text() == TEMPLATE
    assert (tmp_path / "answers" / "take_while.py~").read_text() == "mine"


def test_verdicts_are_json_for_programs(tutorials, tmp_path):
    assert "learn watch --folder mine " in tutorials("start", "mine").stdout
    for elsewhere in (["check"], ["next"], ["watch"], ["reset", "take_while"]):
        assert "answers/ has no answers: " in tutorials(*elsewhere).stderr
    (tmp_path / "mine" / "take_while.py").write_text(TEMPLATE + "\n")
    done = tutorials("check", "--all", "--json", "--folder", "mine")
    (verdict,) = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, verdict["code"], verdict["kind"], verdict["line"]) == (1, 1, "values", 15)
    # Without the folder, there would be no hint, or one about another answer.
    lines = tutorials("check", "--folder", "mine").stdout.splitlines()
    assert "  hint: python -m pullstream learn hint --folder mine" in lines


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("def take_while(:\n", 2, "this is not valid Python"),
        ("import no_such_module\n", 2, "No module named"),
        ("take = 1\n", 2, "has no 'take_while'"),
        ("raise SystemExit(7)\n", 2, "take_while.py:1\n  it cannot be loaded: SystemExit: 7"),
        ("import os; os._exit(0)\n", 2, "its process ended"),
    ],
)
def test_unjudgeable_answers_are_reported(tutorials, tmp_path, text, code, message):
    (tmp_path / "take_while.py").write_text(text)
    done = tutorials("check", "take_while.py")
    assert (done.returncode, done.stdout.splitlines()[0]) == (code, "cannot be judged: 4.1 take_while")
    assert message in done.stdout


@pytest.mark.slow
def test_an_endless_answer_is_reported_with_line(tutorials, tmp_path):
    (tmp_path / "take_while.py").write_text(f"{TEMPLATE}        while True:\n            pass\n")
    done = tutorials("check", "take_while.py")
    assert done.returncode == 3
    assert "spin: " in done.stdout
    assert re.search(r"take_while.py:1[89]", done.stdout)


@pytest.mark.parametrize(
    ("terminal", "environment", "printed"),
    [
        (True, {}, "\x1b[1;31mwrong\x1b[0m: it"),
        (True, {"NO_COLOR": "1"}, "wrong: it"),
        (True, {"TERM": "dumb"}, "wrong: it"),
        (False, {}, "wrong: it"),
    ],
)
def test_no_colours_without_a_terminal_or_if_unwanted(terminal, environment, printed, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    show("wrong: it")
    assert capsys.readouterr().out == f"{printed}\n"


def test_watch_judges_saved_answers(tutorials, tmp_path):
    tutorials("start")
    terminal = Terminal(tmp_path, "watch")
    terminal.until("q quit")
    terminal.type("h")
    terminal.until("hint 1 of 3")
    answer = tmp_path / "answers" / "take_while.py"
    answer.write_text(TEMPLATE + "\n# saved\n")
    terminal.until("values: ")
    shutil.copyfile(exercise_named("take_while").solution, answer)
    terminal.until("right: 4.1 take_while")
    terminal.until("q quit")
    terminal.type("\x03")
    assert terminal.ended() == 130


def test_ctrl_c_during_judging(tutorials, tmp_path):
    begun = tmp_path / "begun"
    (tmp_path / "take_while.py").write_text(f"import time\nopen({str(begun)!r}, 'w').close()\ntime.sleep(60)\n")
    process = started(*COMMAND, "check", "take_while.py", cwd=tmp_path, env=environment(), stderr=subprocess.PIPE)
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, "Traceback" in err) == (130, False)


@pytest.mark.parametrize(
    ("file", "text", "arguments", "message"),
    [
        ("answers", "a file", ["start"], ""),
        *((".progress.json", state, [], "is damaged") for state in ("7", '["now"]')),
        *(("none", "", words.split(), "") for words in ("check nonsense", "read 77", "read 4.77", "hint nonsense")),
    ],
)
def test_one_line_refusals(tutorials, tmp_path, file, text, arguments, message):  # noqa: PLR0917
    (tmp_path / file).write_text(text)
    done = tutorials(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


RULE = "R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("wrong", "opened", "message", "shown"),
    [
        ("take_while/asks_after_done", '"violation"', RULE, '"violation", "take_while", "R9"'),
        ("largest/a_time_too_soon", '"violation"', "drop(time)", ""),
        ("reach/seen_once_for_all", '"done"', "it gave at 1\n  map 0\nand should", "('map', 0)"),
        ("words_a_day/days_without_words", '["4", "1", "0"]', "it gave\n[(1, 4), (2, 1), (3, 0), (4, 4)]\n", '"value"'),
        ("till/never_advances", '"completed"', "complete after", ""),
    ],
)
def test_a_page_opens_at_the_mistake(tutorials, tmp_path, wrong, opened, message, shown):  # noqa: PLR0917
    """The page has the failing run, found by the kit, by comparison or in a run of the judge, and the whole verdict.

    It opens at the broken rule, the wrong value, or the unexpected event.
    """
    name, mistake = wrong.split("/")
    answer_named(name, mistake).written(tmp_path)
    done = tutorials("trace", f"{name}.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}.html steps through it" in done.stdout
    data = re.search(r'id="trace">([^<]*)<', (tmp_path / f"{name}.html").read_text())[1]
    page = json.loads(zlib.decompress(b64decode(data)))
    assert opened in json.dumps(page["events"][page["opens"] - 1])
    assert message in page["told"]
    assert shown in json.dumps(page["events"])
    assert name != "reach" or "('green', 0)" not in json.dumps(page["events"])


def test_without_a_wrong_run_no_page(tutorials, tmp_path):
    shutil.copyfile(exercise_named("take_while").solution, tmp_path / "take_while.py")
    assert tutorials("trace", "take_while.py").stdout == "right: 4.1 take_while\n"
    shutil.copyfile(exercise_named("by_hand").template, tmp_path / "by_hand.py")
    done = tutorials("trace", "by_hand.py")
    assert done.returncode == 2
    assert "no run" in done.stderr
    assert [path.name for path in tmp_path.glob("*.html")] == []


def test_reading_sections(tutorials, monkeypatch):
    done = tutorials("read", "4.8")
    assert done.returncode == 0
    assert "8. Ending without notifying upstream" in done.stdout
    chapters = []
    monkeypatch.setattr(commands, "tell", lambda *given: chapters.append(given))
    assert "How do I write a module?" in tutorials("read", "3").stdout
    assert "The introduction is that of chapter 7: learn read 7" in tutorials("read", "8").stdout
    assert chapters == [("tutorials.writing_your_own", (1, 2, 3, 12)), ("tutorials.when_is_it_done", (7, 8, 9))]


def test_every_exercise_has_a_section_to_read():
    from tutorials.contents import chapter_numbered

    for exercise in EXERCISES:
        number, _, piece = exercise.read.partition(".")
        chapter = chapter_numbered(number)
        assert not piece or int(piece) in chapter.pieces, exercise
        chapter_numbered(exercise.number.partition(".")[0])
