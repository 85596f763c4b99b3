# wrong: values
"""It removes only steps that nothing leads to, and so keeps tails behind a cycle."""


def find_cycles(steps):
    kept = {(start, end) for start, end, summary in steps if not summary.strict}
    while True:
        led_to = {end for _, end in kept}
        further = {(start, end) for start, end in kept if start in led_to}
        if further == kept:
            return kept
        kept = further
