"""The door to `timely.theory.model.record`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("timely")

from timely.theory.model.record import *  # noqa: E402, F403
