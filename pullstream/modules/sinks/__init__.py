"""Where streams end."""
