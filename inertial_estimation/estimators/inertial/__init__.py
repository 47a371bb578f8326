"""Link inertias: measurement windows, innovation gate, filters, hand-over."""
