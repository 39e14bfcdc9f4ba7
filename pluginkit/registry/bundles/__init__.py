"""What a bundle is: its manifest, its archive, its variants, and the systems they fit."""
