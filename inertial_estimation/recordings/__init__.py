"""Reading and writing of recordings: bags, message bytes, trajectory files, messages of live nodes."""
