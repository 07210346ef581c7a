"""One file per command: parse, call the api, print, exit."""
