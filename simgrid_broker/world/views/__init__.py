"""Views: tables of the world as decisions read them."""
