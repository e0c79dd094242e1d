"""The tutorials' command line tools under their names, over cleave."""
