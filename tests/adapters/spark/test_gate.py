"""The gate before Spark's commit: tests that need no server."""

from adapters.spark.connect.gate import Gate


class NoServer:
    """A session whose server does not answer."""

    def __getattr__(self, name):
        raise AssertionError(f"the server is asked: {name}")


def test_making_a_gate_does_not_call_the_server():
    """It is made in the thread of the run, which would be blocked by a slow server."""
    Gate(NoServer(), "/checkpoints/sales")
