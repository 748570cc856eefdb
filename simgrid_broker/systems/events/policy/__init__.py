"""Rules of event service, on a table of event ranges: requests and reports of jobs, their ends and kills."""
