"""A Spark cluster on the loopback: a standalone master and two workers, from the installed package."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from adapters.spark.java import java_home


class Cluster:
    """The processes of a cluster, each in its own process group; their output goes to files."""

    def __init__(self, folder):
        import pyspark

        home = Path(pyspark.__file__).parent
        self._command = str(home / "bin" / "spark-class")
        self._environ = {
            **os.environ,
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_NO_DAEMONIZE": "1",
        }
        self._folder = folder
        self._processes = []
        self.url = ""

    @property
    def pids(self):
        return [process.pid for process in self._processes]

    def start(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        self._start("master", "master.Master", "--port", str(port))
        self._wait("master", "Starting Spark master at")
        workers = "worker-1", "worker-2"
        for name in workers:
            self._start(name, "worker.Worker", "--cores", "1", "--memory", "1g", self.url)
        for name in workers:
            self._wait(name, "Successfully registered with master")

    def _start(self, name, kind, *arguments):
        command = [self._command, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", "--webui-port", "0"]
        with (self._folder / name).open("wb") as output:
            self._processes.append(
                subprocess.Popen(
                    [*command, *arguments],
                    env=self._environ,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    start_new_session=True,
                )
            )

    def _wait(self, name, text):
        deadline = time.monotonic() + 300
        while text not in (self._folder / name).read_text(errors="replace"):
            assert time.monotonic() < deadline, (self._folder / name).read_text(errors="replace")
            time.sleep(0.1)

    def stop(self):
        """End the workers, which end their executors, and then the master."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """One cluster for all tests, because it takes seconds to start."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.stop()
