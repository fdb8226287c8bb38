"""Approval by a second person: which datasets need it, requests for it, and their use by a charge."""
