"""A Spark cluster on the loopback: a standalone master and two workers, from the installed package."""

import os
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from adapters.spark.java import java_home
from tests.programs import wait


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """The URL and processes of one cluster for all tests, because a cluster takes seconds to start."""
    import pyspark

    folder, home = tmp_path_factory.mktemp("cluster"), Path(pyspark.__file__).parent
    environ = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_NO_DAEMONIZE": "1",
    }
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = SimpleNamespace(url=f"spark://127.0.0.1:{port}", pids=[])

    def start(kind, says, *arguments):
        """Start a process in its own group, with its output in a file; wait until the output contains a text."""
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1"]
        log = folder / f"{kind}-{len(found.pids)}"
        with log.open("wb") as output:
            how = {"stdout": output, "stderr": subprocess.STDOUT, "cwd": folder, "start_new_session": True}
            process = subprocess.Popen([*command, "--webui-port", "0", *arguments], env=environ, **how)
        stack.callback(stop, process)
        found.pids.append(process.pid)
        wait(lambda: says not in (said := log.read_text(errors="replace")) and (said or "nothing"))

    with ExitStack() as stack:
        start("master.Master", "Starting Spark master at", "--port", str(port))
        for _ in range(2):
            registered = "Successfully registered with master"
            start("worker.Worker", registered, "--cores", "1", "--memory", "1g", found.url)
        yield found


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
