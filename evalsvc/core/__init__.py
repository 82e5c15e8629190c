"""The ground floor: accounts, jobs, web kit, errors, database helpers and file formats."""
