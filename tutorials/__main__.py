"""`python -m tutorials`: chapters to read, exercises to do, and what is right or wrong about your answers."""

import sys

from tutorials.command.line import main

if __name__ == "__main__":
    sys.exit(main())
