"""The laboratory: AWS over the wire, as far as Treenail talks to it, with faults on request.

A server process holds moto behind our own code: fleets that choose by price and capacity, instances that
take their time, prices, images, a network and a queue. `Lab` is how a test reaches and governs it.
"""
