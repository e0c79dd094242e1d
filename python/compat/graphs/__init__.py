"""The names of the `graphs` package of the tutorials, over cleave: thin
objects around the dicts that the C library returns."""
