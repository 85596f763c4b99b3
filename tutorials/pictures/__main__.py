"""`python -m tutorials.pictures`: redraw the pictures of the chapters."""

from tutorials.pictures.draw import main

if __name__ == "__main__":
    main()
