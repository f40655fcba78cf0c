"""Offers, which could be bought: catalogues, pools and their limits as arrays and masks.

In: the pools' offers and the demands of pods. Out: node options, with types, prices and room. Used by every
stage of packing but the parsing of pods.
"""
