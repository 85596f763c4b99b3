"""A Spark Connect server on the loopback for the tests: prints its port, and answers questions until its input ends.

It is a separate program, as a managed Spark is, so that no tested code runs in the process of its Java.
"""

import json
import sys

from adapters import spark

SETTINGS = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.connect.progress.reportInterval": "100ms",
    "spark.sql.shuffle.partitions": "2",
    # How long the server keeps the operations of a killed client; five minutes by default.
    "spark.connect.execute.manager.detachedTimeout": "10s",
    "spark.connect.execute.manager.maintenanceInterval": "1s",
}


class Server:
    def __init__(self):
        self.session = spark.session(master="local[2,2]", config=SETTINGS)
        java = self.session.sparkContext._jvm.java
        loader = java.lang.Thread.currentThread().getContextClassLoader()
        service = loader.loadClass("org.apache.spark.sql.connect.service.SparkConnectService$")
        self.service = service.getField("MODULE$").get(None)

    def port(self):
        return self.service.localPort()

    def left(self):
        """Everything that a client has started and not ended: jobs, executions, streaming queries, shared views."""
        executions = self.service.executionManager().listExecuteHolders().size()
        # Spark lists global views only by name, not as tables.
        views = [table.name for table in self.session.catalog.listTables("global_temp") if table.isTemporary]
        queries = self.session._jsparkSession.sharedState().activeStreamingQueries().size()
        jobs = self.session.sparkContext.statusTracker().getActiveJobsIds()
        return {"executions": executions, "jobs": len(jobs), "views": views, "queries": queries}


def main():
    server = Server()
    print(server.port(), flush=True)
    for line in sys.stdin:
        print(json.dumps(getattr(server, line.strip())()), flush=True)
    server.session.stop()


if __name__ == "__main__":
    main()
