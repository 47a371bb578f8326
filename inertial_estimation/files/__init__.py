"""Files that cannot hurt: bounded reading, YAML without surprises, results written whole or not at all."""
