"""The door to `timely.order`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("timely")

from timely.order import *  # noqa: E402, F403
