"""Tables in files: text, workbooks, Parquet and Arrow, first read in a separate process."""
