"""Graph algorithms as loops whose end is a completion: `python -m tutorials.graphs`.

`rounds` turns a step, a plain function of one round's values, into the body of a loop; `algorithms` has breadth-first
search, connected components, PageRank and core numbers, each as such a step; `edges` has the graphs.
"""
