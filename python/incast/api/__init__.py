"""The modules behind `incast.run` and the other public names."""
