"""What models cost: time and memory, measured."""
