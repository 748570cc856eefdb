"""Rules about tasks: which goes first, how it is cut into jobs, scouts, merging, throttle and watchdogs."""
