"""The logger of the whole toolkit: "pullstream"."""

import logging
from typing import Final

LOG: Final = logging.getLogger("pullstream")
