"""Progress tracking beside a run: locations, holds and stamps, frontiers, and waits for them."""
