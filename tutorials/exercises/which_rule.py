r"""1.1 Which rule is broken?

Below are eight drawings of the messages at an edge, or at both edges of a module. In each, one rule is broken, by the
last message drawn or by one that is missing after it. `D` asks below, `U` answers above; for a module in between, `TI`
is its input and `TO` its output. The rules are listed by `python -m pullstream learn read 1.13`.

    1   D: ask1(Ans1) -> U: Ans1=value('tea', 'and', 'rice')

    2   D: ask1(Ans1) -> U: Ans1=value('tea')
        -> D: ask2(Ans2) -> U: Ans2=done
        -> D: ask3(Ans3)

    3   D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('1') -> TO: Ans1=value('1')
        -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('two') -> TO: Ans2=done

    4   D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('two') -> TO: Ans1=error(ValueError('two'))

    5   D: ask1(Ans1) -> U: Ans1=error(ValueError('no such table'))
        -> D: ask2(Ans2) -> U: Ans2=value('tea')

    6   D: ask1(Ans1)                    -> U: Ans1=value('tea')
                     \-> D: abort2(Ans2)

    7   D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
        -> D: error2(ValueError('disk full') Ans2) -> TI: abortT2(AnsT2) -> U: AnsT2=done -> TO: Ans2=done

    8   D: ask1(Ans1)
                     \-> D: ask2(Ans2)
                                      -> U: Ans2=value('tea')

Name each rule: `BROKEN[1]` is the first, "R1" to "R12".
"""

BROKEN = {1: "R?", 2: "R?", 3: "R?", 4: "R?", 5: "R?", 6: "R?", 7: "R?", 8: "R?"}
