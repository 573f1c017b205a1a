"""`python -m npudoctor`."""

from npudoctor.cli import main

if __name__ == "__main__":
    main()
