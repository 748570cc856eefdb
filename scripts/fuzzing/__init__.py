"""Parts of `scripts/fuzz.py`: making scenarios, running them within limits, checking their tables, counting acts."""
