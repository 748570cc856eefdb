"""Harvester: workers are submitted, watched and cancelled, and jobs fetched ahead."""
