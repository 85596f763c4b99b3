"""The doctor: installed packages, files that hide the toolkit's packages, whether Spark starts; each with a fix."""

import re
import sys

import pytest

import pullstream as ps
from pullstream import doctor
from pullstream.__main__ import main
from tests.programs import python


def diagnosed(capsys, *options):
    code = main(["doctor", *options])
    return code, capsys.readouterr().out


def test_installed_packages_have_their_versions(capsys):
    code, out = diagnosed(capsys, "--no-spark")
    assert code == 0
    for name in ("python", "pullstream", "needs", "files", "spark", "display", "trio ", "pyspark ", "rich "):
        assert name in out
    assert "!!" not in out


def test_missing_packages_come_with_the_install_command(capsys, monkeypatch):
    """A missing extra is not a fault, a missing package that the toolkit needs is."""
    here = doctor.version

    def version(name):
        if name in missing:
            raise doctor.PackageNotFoundError(name)
        return here(name)

    monkeypatch.setattr(doctor, "version", version)
    missing = {"rich"}
    code, out = diagnosed(capsys, "--no-spark")
    assert code == 0
    assert "-- display      without rich\n                pip install 'pullstream[display]'" in out
    missing = {"attrs", "pyspark"}
    code, out = diagnosed(capsys)
    assert code == 1
    assert "!! pullstream   without attrs\n                pip install pullstream" in out
    assert "spark starts" not in out, "without pyspark there is nothing to start"


def test_an_older_installation_names_extras_it_lacks(capsys, monkeypatch):
    """In an updated checkout, the needs of new extras are unknown until it is installed again."""
    older = [line for line in doctor.requires("pullstream") if "metrics" not in line]
    monkeypatch.setattr(doctor, "requires", lambda _: older)
    code, out = diagnosed(capsys, "--no-spark")
    assert code == 0
    assert re.search(r"-- extras  .* metadata is older, and does not have .*metrics\n .* pip install -e ", out)


def test_a_project_with_a_package_s_name_is_found(tmp_path):
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "__init__.py").write_text("")
    done = python("-m", "pullstream", "doctor", "--no-spark", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"!! adapters     found at {tmp_path}/adapters/__init__.py, which is not the toolkit's" in done.stdout
    assert "rename the file, or\n" in done.stdout


@pytest.mark.slow
@pytest.mark.spark
def test_spark_is_started_in_its_own_process(capsys):
    code, out = diagnosed(capsys)
    assert code == 0, out
    assert "counts to 3, with the Java in " in out


def test_a_spark_that_does_not_start_says_why(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "SPARK", "raise OSError('no Java anywhere')")
    code, out = diagnosed(capsys)
    assert code == 1
    assert out.endswith("!! spark starts no\n                OSError: no Java anywhere\n")


def test_spark_needs_an_installed_toolkit(capsys, monkeypatch):
    """If it is only importable, its requirements are unknown, and installed packages may be too old."""

    def requires(name):
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "requires", requires)
    monkeypatch.setattr(doctor, "version", requires)
    code, out = diagnosed(capsys)
    assert code == 0
    assert "-- pullstream   not installed, but in " in out
    assert "pip install -e " in out
    assert "spark starts" not in out


def test_the_command_needs_no_output(monkeypatch):
    """With its output closed, as in some services, `sys.stdout` is None."""
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["doctor", "--no-spark"]) in {0, 1}


def test_the_command_says_its_version(capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"pullstream {ps.__version__}\n"
