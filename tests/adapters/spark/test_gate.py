"""The gate before Spark's commit, where no server is needed for it."""

from adapters.spark.connect.gate import Gate


class NoServer:
    """A session whose server does not answer."""

    def __getattr__(self, name):
        raise AssertionError(f"the server is asked: {name}")


def test_making_a_gate_asks_the_server_for_nothing():
    """It is made in the thread of the run, which would stand still for as long as the server takes."""
    Gate(NoServer(), "/checkpoints/sales")
