"""Tables of other engines and of database files; SQL dialects of the engines that count."""
