"""9.2 The normal form of a path: add a letter at a time, and apply the rules at the end."""


def normal_form(word):
    """Return the word to which neither rule applies."""
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
