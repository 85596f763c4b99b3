"""`python -m tutorials.pictures`: redraw the pictures of the chapters."""

import argparse

from tutorials.pictures.draw import main

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tutorials.pictures", description=__doc__).parse_args()
    main()
