"""The words of the domain: objects of Kubernetes, Karpenter and EC2 as values, and the ports of the runtime.

In: nothing but the standard library. Out: frozen values and their algebra. Used by every other package.
"""
