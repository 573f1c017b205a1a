"""Types that every part shares. Standard library only; imports nothing else of npudoctor."""
