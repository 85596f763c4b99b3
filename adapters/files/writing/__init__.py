"""Writing files: one per completed time, whole or not at all."""
