"""The kinds of karpenter.kwok.sh, one module a version and kind. Fields we do not know are errors."""
