"""What is known of the objects: which of them make good anchors, and which are related."""
