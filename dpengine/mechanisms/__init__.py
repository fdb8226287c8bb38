"""The field's other mechanisms, each exact where it guards a release."""
