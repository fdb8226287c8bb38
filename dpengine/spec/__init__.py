"""What is public: columns and their cells, plans and single questions, read and checked."""
