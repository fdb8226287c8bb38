"""Read the rows of text and Parquet files in pieces, without SQL for each row."""
