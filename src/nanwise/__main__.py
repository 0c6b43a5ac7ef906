"""``python -m nanwise``."""

from nanwise.cli import main

if __name__ == "__main__":
    main()
