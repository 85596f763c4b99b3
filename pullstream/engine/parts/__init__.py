"""Parts that modules are made of: queues of values, functions over batches, completions, fan-in and fan-out."""
