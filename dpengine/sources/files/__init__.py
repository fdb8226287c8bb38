"""Tables in files: text, workbooks, Parquet and Arrow, first read in a process of their own."""
