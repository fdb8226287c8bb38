"""What readers are shown, in their language: the texts and the marks in numbers."""
