"""Claims from their instance to a node in use: registration, initialization, early binding, garbage.

In: claims, nodes and listings of instances. Out: patches, and claims to give up. Used by NodeLifecycle,
EarlyBinder and InstanceTagger.
"""
