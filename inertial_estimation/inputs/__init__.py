"""The intake: messages to values, are they possible, when were they taken, aligned samples; for live and offline use."""
