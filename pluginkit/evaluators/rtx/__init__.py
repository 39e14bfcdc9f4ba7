"""NVIDIA's builder: builds each network; where RTX runs, its engines."""
