"""A run: its tasks, its assembly from blueprints, deadlock detection and interrupts."""
