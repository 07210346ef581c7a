"""``timesink repro``: does a script give the same bits again, and if not, from where on."""
