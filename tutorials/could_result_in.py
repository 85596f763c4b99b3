"""Could-result-in: what a message may still lead to, and so which times are complete.

Read this chapter after `when_is_it_done`: `python -m pullstream learn read 9`. It needs no extra. Afterwards you can
work out with a pencil which times are complete where in a small program, and which of two paths through loops is the
earlier one.

The question is always: *there is a message here, at this time; can one still arrive there, at that time?* If nothing
anywhere can lead there any more, the time is complete there, and you can act: publish a day's sum, commit a batch.
Below we answer it by hand: first from the behaviour of the nodes, as Abadi and Isard define it (000, §2 and §3.1 to
§3.3), and then along the paths through loops, whose normal form is the subject of 002. The next chapter answers it by
query, and by the tracker.

We left out two things: nodes that inspect the content of messages or have state, which 000 treats at length (here a
node is only its effect on times), and recursion, to which its §3.4 extends all this. `tutorials/literature.md` says
where to read 000 and 002.
"""

from pullstream.timely import Antichain, LoopSummary, LoopTime, NaiadSummary, SummaryError
from pullstream.timely.theory import compare_words, model
from pullstream.timely.theory.model import Pointstamp
from tutorials.lesson import say, tell

TIMES = (0, 1, 2)

LOOP = model.ModelGraph(
    nodes=("body", "again"),
    edges=(
        model.Edge("in", destination="body"),
        model.Edge("a", "body", "again"),
        model.Edge("b", "again", "body"),
        model.Edge("out", "body"),
    ),
)


def what_the_nodes_do(advance: int) -> model.Program:
    """Return the loop with its nodes; `again` sends every message back `advance` steps later, up to the last time."""
    return model.Program(
        LOOP,
        {
            "body": model.relation_node({t: [("a", t), ("out", t)] for t in TIMES}),
            "again": model.relation_node({t: [("b", t + advance)] for t in TIMES if t + advance in TIMES}),
        },
        TIMES,
    )


def could_result_in(advance: int) -> model.CouldResultIn:
    """Return the could-result-in relation of the loop, computed from its nodes."""
    return model.CouldResultIn(LOOP, TIMES, model.one_steps(what_the_nodes_do(advance)))


def single_steps() -> None:
    """1. The effect of one step.

    There are two nodes and a loop between them:

        in ──> body ──> out          `body` passes every message on, outward and round the loop, at the same time.
               ^  │                  `again` sends it back one step later.
             b │  │ a
              again

    A *pointstamp* is a place, a node or an edge, and a time: a message on edge `a` at time 1 is the pointstamp (a, 1).
    One step of computation leads from a node to one of its outgoing edges (000, Definition 1). Nothing else about the
    nodes matters, and we can find the steps by trying: with three times there are eight.
    """
    for step in sorted(model.one_steps(what_the_nodes_do(advance=1))):
        print(f"an event at {step.time} at {step.node} may send on {step.edge} at {step.later}")
    # | an event at 0 at again may send on b at 1
    # | an event at 1 at again may send on b at 2
    # | an event at 0 at body may send on a at 0
    # | an event at 0 at body may send on out at 0
    # | an event at 1 at body may send on a at 1
    # | an event at 1 at body may send on out at 1
    # | an event at 2 at body may send on a at 2
    # | an event at 2 at body may send on out at 2


def proofs() -> None:
    """2. A chain of steps.

    The rest follows. A message on an edge may cause an event at the edge's destination. An event may cause whatever a
    later event at its node may cause. A chain of such steps that visits no place twice is a *proof* that one pointstamp
    could result in another (Definition 2). A message at (a, 1) must go round before it can come out: a, again, b, body,
    out, a proof of five places. So it can come out at 2, but not at 1.
    """
    leads = could_result_in(advance=1)
    for place in LOOP.locations:
        for t in TIMES[:2]:
            at_out = [u for u in TIMES if leads(Pointstamp(place, t), Pointstamp("out", u))]
            print(f"({place}, {t}) could result in `out` at {at_out}")
    print(
        f"from (a, 1) to (out, 2): {set(model.proof_lengths(leads, Pointstamp('a', 1), Pointstamp('out', 2)))} places"
    )
    # | (body, 0) could result in `out` at [0, 1, 2]
    # | (body, 1) could result in `out` at [1, 2]
    # | (again, 0) could result in `out` at [1, 2]
    # | (again, 1) could result in `out` at [2]
    # | (in, 0) could result in `out` at [0, 1, 2]
    # | (in, 1) could result in `out` at [1, 2]
    # | (a, 0) could result in `out` at [1, 2]
    # | (a, 1) could result in `out` at [2]
    # | (b, 0) could result in `out` at [0, 1, 2]
    # | (b, 1) could result in `out` at [1, 2]
    # | (out, 0) could result in `out` at [0, 1, 2]
    # | (out, 1) could result in `out` at [1, 2]
    # | from (a, 1) to (out, 2): {5} places


def clock() -> None:
    """3. Which times are complete.

    Messages in flight and rights to send are *pending* pointstamps. The set of all pointstamps that they could result
    in is called Clock. Nothing outside Clock can happen any more, so times outside it are complete. With one message
    pending, at (a, 1), both earlier times are complete at `out`, and also at `b`, where it would arrive one step later.
    """
    leads = could_result_in(advance=1)
    still = leads.unmask(leads.close_up(leads.mask([Pointstamp("a", 1)])))
    for place in ("a", "b", "out"):
        print(f"complete at {place}: {[t for t in TIMES if Pointstamp(place, t) not in still]}")
    # | complete at a: [0]
    # | complete at b: [0, 1]
    # | complete at out: [0, 1]


def into_the_past() -> None:
    """4. Into the past.

    All this depends on one condition: no message that a node sends may come back to it, round a loop, in the past of
    the message that caused it (000, Condition 2). Let `again` send *back* in time, and follow an event at 1 at `body`.
    It leads to `again` at 1, which leads to `body` at 0. But `body` at 1 does not lead to `body` at 0, because a proof
    visits no place twice. So the relation is no longer transitive. This is Theorem 1: the relation is transitive if and
    only if the condition holds. Code that looks one proof ahead would then announce completions that are later revoked.
    That is why a module must not send at a complete time (R12), and why every loop has a counter.
    """
    for advance in (1, -1):
        leads = could_result_in(advance)
        broken = model.intransitive(leads)
        print(f"`again` sends {advance:+}: Condition 2 {'fails' if model.condition_2(leads) else 'holds'}")
        if broken is not None:
            print(" then ".join(f"({x}, {t})" for x, t in broken), "and from the first to the last:")
            print(leads(broken[0], broken[2]))
    # | `again` sends +1: Condition 2 holds
    # | `again` sends -1: Condition 2 fails
    # | (body, 1) then (again, 1) then (body, 0) and from the first to the last:
    # | False


def two_least_times() -> None:
    """5. A frontier of two.

    Times need not be totally ordered. In a loop, a time consists of the time outside and a counter, and is less than or
    equal to another if both parts are. Take (0, 3) and (1, 0), yesterday after three rounds and today before the first:
    neither is before the other. What may still come then has no single lower bound, but a set of minimal times, none of
    which is before another: an *antichain*. Such a set is a frontier. A time is complete if no element of the frontier
    is less than or equal to it. Below, `LoopTime(1, (0,))` is day 1, in the loop, with its counter at 0.
    """
    yesterday, today = LoopTime(0, (3,)), LoopTime(1, (0,))
    print(yesterday <= today, today <= yesterday)
    frontier = Antichain([yesterday, today, LoopTime(1, (3,)), LoopTime(0, (4,))])
    print(frontier)
    for time in (LoopTime(0, (2,)), LoopTime(0, (3,)), LoopTime(1, (2,))):
        print(time, "may still come" if frontier.less_equal(time) else "is complete")
    # | False False
    # | Antichain([LoopTime(0, (3,)), LoopTime(1, (0,))])
    # | LoopTime(0, (2,)) is complete
    # | LoopTime(0, (3,)) may still come
    # | LoopTime(1, (2,)) may still come


def paths_are_words() -> None:
    """6. A path is a word.

    Relations over all times do not scale, because there are too many times. But the effect of a path on a time is
    simple: entering a loop appends a counter (i), leaving drops it (e), and feedback adds one to the last counter (f).
    A path is a word of these letters, and two rules shorten it (002):

        ie = 1    entering and leaving has no effect
        fe = e    a counter that is dropped need not be incremented

    When neither rule applies, the word is in *normal form*, which always looks like e...e f...f if..fif..f: up,
    feedback at the top, down again. It has the same effect on every time as the whole path.
    """
    for word in ("ie", "fe", "if", "iffe", "ieeiffieeif"):
        print(f"{word} = {getattr(LoopSummary.word(word), 'letters', 1)}")
    print(LoopSummary.word("eif").results_in(LoopTime(5, (4, 7))))
    # | ie = 1
    # | fe = e
    # | if = if
    # | iffe = 1
    # | ieeiffieeif = eif
    # | LoopTime(5, (4, 1))


def one_before_another() -> None:
    """7. Which path is the earlier one?

    A path is at or before another if its result is never later, whatever time goes in. Some pairs are not ordered: 1
    leaves the inner counter unchanged, while eif sets it to 1, which is later than a counter at 0 and earlier than one
    at 7. So of all paths between two places, we keep those that no other is before, again an antichain. The others
    never matter.
    """
    one, ei, eif = LoopSummary(), LoopSummary(leaves=1, enters=(0,)), LoopSummary(leaves=1, enters=(1,))
    print(f"1 <= eif: {one <= eif},  eif <= 1: {eif <= one},  ei <= 1: {ei <= one},  ei <= eif: {ei <= eif}")
    for counter in (0, 7):
        time = LoopTime(5, (4, counter))
        print(f"{time}: by eif {eif.results_in(time)}")
    for paths in ([one, eif], [one, eif, ei]):
        print("the least of them:", [path.letters or 1 for path in Antichain(paths)])
    # | 1 <= eif: False,  eif <= 1: False,  ei <= 1: True,  ei <= eif: True
    # | LoopTime(5, (4, 0)): by eif LoopTime(5, (4, 1))
    # | LoopTime(5, (4, 7)): by eif LoopTime(5, (4, 1))
    # | the least of them: [1, 'eif']
    # | the least of them: ['ei']


def in_the_dictionary() -> None:
    """8. Dictionary order.

    Naiad compares the counters of a time in dictionary order, the outermost first. Then f is before efi: another round
    of the inner loop comes before a round of the outer one. Compared coordinate by coordinate, as above, neither is
    before the other. 002 asks whether, in Naiad's order, the spelling of paths decides as well: compare normal forms as
    words, with i before f before e. It does, but only if every path that leaves a loop and comes back has a feedback at
    its top. Without one, dictionary order is wrong: it puts ei after 1, although ei, which sets a counter to 0, never
    gives a later time. So the toolkit compares paths by their effects.
    """
    for kind in (NaiadSummary, LoopSummary):
        f, efi = kind(feedback=1), kind(leaves=1, feedback=1, enters=(0,))
        print(f"f <= efi: {f <= efi},  in the dictionary: {compare_words(f, efi) < 0}")
    try:
        compare_words(LoopSummary(leaves=1, enters=(0,)), LoopSummary())
    except SummaryError as error:
        say(error)
    # | f <= efi: True,  in the dictionary: True
    # | f <= efi: False,  in the dictionary: True
    # | LoopSummary('ei') and LoopSummary('') do not meet the loop condition: compare them with <=, not as words


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
