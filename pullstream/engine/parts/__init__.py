"""Parts that modules are made of: queues of owed values, functions over batches, completions, fan-in and fan-out."""
