"""The label inventory, its changes, texts and presets."""
