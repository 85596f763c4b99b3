"""Pipelines that can never give a result: a source without an end, into a module that waits for the end.

Only the composition is examined. Uncertain cases are not reported: an unknown module may end the stream.
"""

from pullstream.blueprint import Blueprint, Emits


def never_gives(pipeline: Blueprint) -> str:
    """Return why a pipeline that nothing else stops never gives a result; "" if it may give one."""
    source, *others = pipeline.modules
    if Emits.of(source) is not Emits.FOREVER:
        return ""
    # A source with `follow` gives values that arrive later a later time.
    timed = not {"time", "follow"}.isdisjoint(dict(source.options))
    for module in others:
        emits = Emits.of(module)
        if emits is Emits.AT_THE_END:
            return (
                f"{module}, composed at {module.site}, returns its result at the end, and {source} never ends. End the "
                f"stream, for example with take(n), or handle each value, with drain(f) or iterate(source)"
            )
        if emits is Emits.PER_TIME and not timed:
            return (
                f"{module}, composed at {module.site}, waits until a time is complete, and all values of {source} are "
                f"at the time 0, which ends only with the source: never. Assign times, with time=, stamp(...) or "
                f"stamp_epochs(...), or end the stream, for example with take(n)"
            )
        timed = timed or emits is Emits.AT_OTHER_TIMES
        if emits in {Emits.UNKNOWN, Emits.AT_ANY_TIME}:
            return ""
    return ""
