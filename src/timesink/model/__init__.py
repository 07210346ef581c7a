"""Frozen values that every room shares. Standard library only, no behaviour beyond arithmetic.

Time is an integer number of nanoseconds everywhere; sizes are bytes; shares are 0..1.
"""
