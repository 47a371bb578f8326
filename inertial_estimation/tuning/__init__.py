"""Better parameters from recordings, with a reference or without: search, judgement on other data, result files."""
