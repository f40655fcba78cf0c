"""Packing pod by pod, as Karpenter does, where what there is does not suffice for all."""
