"""Six models in the shapes of well known ones, small enough for a CPU, as code for them is usually written: with imports
that only training needs."""
