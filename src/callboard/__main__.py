"""`python -m callboard`: the command line, also where the folder of scripts is not in the path."""

from .cli import main

if __name__ == "__main__":
    main()
