"""Users: jobs, disk quotas, and what analysis brokerage knows of both."""
