"""`python -m tutorials.pictures`: draw the pictures of the chapters anew."""

from tutorials.pictures.draw import main

if __name__ == "__main__":
    main()
