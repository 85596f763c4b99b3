"""Composable streams with back-pressure and completion."""
