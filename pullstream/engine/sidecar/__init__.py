"""Progress tracking beside a run: locations, what is held and in flight, frontiers, and who waits for them."""
