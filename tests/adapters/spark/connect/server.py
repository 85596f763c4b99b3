"""A Spark Connect server on the loopback, for the tests: says its port, and answers questions until its input ends.

It is a program of its own, as a managed Spark is, so that nothing of what is tested runs beside its Java.
"""

import json
import sys
import time

from adapters import spark

SETTINGS = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.connect.progress.reportInterval": "100ms",
    "spark.sql.shuffle.partitions": "2",
    # What a client that was killed has begun the server keeps for it so long; five minutes, unless it is told.
    "spark.connect.execute.manager.detachedTimeout": "10s",
    "spark.connect.execute.manager.maintenanceInterval": "1s",
}


class Server:
    """The server, and what may be asked of it."""

    def __init__(self):
        self.session = spark.session(master="local[2,2]", config=SETTINGS)
        java = self.session.sparkContext._jvm.java
        loader = java.lang.Thread.currentThread().getContextClassLoader()
        service = loader.loadClass("org.apache.spark.sql.connect.service.SparkConnectService$")
        self.service = service.getField("MODULE$").get(None)

    def port(self):
        """Where it listens."""
        return self.service.localPort()

    def left(self):
        """What is there that somebody has begun and not ended: jobs, executions, streaming queries, shared views."""
        executions = self.service.executionManager().listExecuteHolders().size()
        # Views are Spark's own, and no table: they are asked for by their names.
        views = [table.name for table in self.session.catalog.listTables("global_temp") if table.isTemporary]
        queries = self.session._jsparkSession.sharedState().activeStreamingQueries().size()
        jobs = self.session.sparkContext.statusTracker().getActiveJobsIds()
        return {"executions": executions, "jobs": len(jobs), "views": views, "queries": queries}

    def heap(self):
        """Megabytes of Java's that are in use, when its garbage has been collected."""
        runtime = self.session.sparkContext._jvm.java.lang.Runtime.getRuntime()
        for _ in range(3):
            self.session.sparkContext._jvm.java.lang.System.gc()
            time.sleep(0.1)
        return (runtime.totalMemory() - runtime.freeMemory()) / 2**20


def main():
    """Serve until the input ends."""
    server = Server()
    print(server.port(), flush=True)
    for line in sys.stdin:
        print(json.dumps(getattr(server, line.strip())()), flush=True)
    server.session.stop()


if __name__ == "__main__":
    main()
