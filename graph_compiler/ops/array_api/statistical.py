"""Statistical functions (array API standard)."""
