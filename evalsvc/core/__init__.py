"""Ground floor: accounts, jobs, web kit, errors, database helpers, file formats."""
