"""Creation functions (array API standard, "Creation Functions")."""
