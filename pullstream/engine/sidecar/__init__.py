"""Progress tracking of a run: locations, holds and stamps, frontiers, and waits for them."""
