"""The toolkit's own fold, whose state is saved by itself."""

import pullstream as ps


def takings():
    def take(state, sale):
        item, price = sale
        _, taken = state
        taken = {**taken, item: taken.get(item, 0) + price}
        return (item, taken[item]), taken

    return ps.scan(ps.Fold(lambda: (None, {}), take, lambda state: state[0]))
