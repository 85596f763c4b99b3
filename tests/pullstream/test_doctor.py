"""The doctor: what is installed, what hides the toolkit's packages, whether Spark starts; each with what helps."""

import re

import pytest

import pullstream as ps
from pullstream import doctor
from pullstream.__main__ import main
from tests.programs import python


def told(capsys, *options):
    code = main(["doctor", *options])
    return code, capsys.readouterr().out


def test_what_is_there_is_named_with_its_version(capsys):
    code, out = told(capsys, "--no-spark")
    assert code == 0
    for name in ("python", "pullstream", "needs", "files", "spark", "display", "trio ", "pyspark ", "rich "):
        assert name in out
    assert "!!" not in out


def test_what_is_missing_comes_with_the_command_that_adds_it(capsys, monkeypatch):
    """An extra that is not there is no fault, a package that the toolkit needs is."""
    here = doctor.version

    def version(name):
        if name in missing:
            raise doctor.PackageNotFoundError(name)
        return here(name)

    monkeypatch.setattr(doctor, "version", version)
    missing = {"rich"}
    code, out = told(capsys, "--no-spark")
    assert code == 0
    assert "-- display      without rich\n                pip install 'pullstream[display]'" in out
    missing = {"attrs", "pyspark"}
    code, out = told(capsys)
    assert code == 1
    assert "!! pullstream   without attrs\n                pip install pullstream" in out
    assert "spark starts" not in out, "without pyspark there is nothing to start"


def test_an_older_installation_says_that_it_does_not_have_all_extras(capsys, monkeypatch):
    """A checkout that moved on: what its new extras need is not known until it is installed again."""
    older = [line for line in doctor.requires("pullstream") if "metrics" not in line]
    monkeypatch.setattr(doctor, "requires", lambda _: older)
    code, out = told(capsys, "--no-spark")
    assert code == 0
    assert re.search(r"-- extras  .* metadata is older, and does not have .*metrics\n .* pip install -e ", out)


def test_another_project_of_a_package_s_name_is_found(tmp_path):
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "__init__.py").write_text("")
    done = python("-m", "pullstream", "doctor", "--no-spark", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"!! adapters     found at {tmp_path}/adapters/__init__.py, which is not the toolkit's" in done.stdout
    assert "rename the file, or\n" in done.stdout


@pytest.mark.slow
@pytest.mark.spark
def test_spark_is_started_in_a_process_of_its_own(capsys):
    code, out = told(capsys)
    assert code == 0, out
    assert "counts to 3, with the Java in " in out


def test_a_spark_that_does_not_start_says_why(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPARK", "raise OSError('no Java anywhere')")
    code, out = told(capsys)
    assert code == 1
    assert out.endswith("!! spark starts no\n                OSError: no Java anywhere\n")


def test_what_is_not_installed_starts_no_spark(capsys, monkeypatch):
    """Where it is only found, nobody knows what it needs, and what is there may be too old."""

    def requires(name):
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "requires", requires)
    monkeypatch.setattr(doctor, "version", requires)
    code, out = told(capsys)
    assert code == 0
    assert "-- pullstream   not installed, but in " in out
    assert "pip install -e " in out
    assert "spark starts" not in out


def test_the_command_says_its_version(capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"pullstream {ps.__version__}\n"
