"""9.2 The normal form of a path: the rules are applied at the end of what is done already, a letter at a time."""


def normal_form(word):
    """The word to which neither rule applies."""
    done = []
    for letter in word:
        if letter != "e":
            done.append(letter)
            continue
        while done and done[-1] == "f":
            done.pop()
        if done and done[-1] == "i":
            done.pop()
        else:
            done.append("e")
    return "".join(done)
