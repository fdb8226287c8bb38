"""Rows of files in pieces that need no SQL for each row: text files and Parquet files."""
