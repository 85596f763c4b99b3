"""1.1 Which rule is broken?

Too many values; an ask after the end; an end, and a failure, without notifying upstream; a value after a failure; a
value after the abort; a reason that is lost; an answer out of order.
"""

BROKEN = {1: "R2", 2: "R9", 3: "R7", 4: "R8", 5: "R3", 6: "R5", 7: "R6", 8: "R1"}
