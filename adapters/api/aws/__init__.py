"""The kinds of karpenter.k8s.aws, one module a version and kind. Fields we do not know are errors."""
