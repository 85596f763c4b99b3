"""The door to `timely.summary`, in a checkout; an installed package has here what is behind it."""

from pullstream.checkout import beside

beside("timely")

from timely.summary import *  # noqa: E402, F403
