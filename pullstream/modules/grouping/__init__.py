"""Values put together, and streams taken apart, by count, by content or by key."""
