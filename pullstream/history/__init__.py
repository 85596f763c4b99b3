"""The history of an edge: its requests and answers, limited in size, and drawn."""
