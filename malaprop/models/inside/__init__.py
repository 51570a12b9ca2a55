"""What a victim shows of its inside: attention, hidden states, its first layer."""
