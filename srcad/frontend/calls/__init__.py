"""Calls: resolve the callee, then inline it, apply its rule, or leave it opaque."""
