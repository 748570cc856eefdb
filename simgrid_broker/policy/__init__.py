"""Pure decisions of PanDA's brokers, throttler, pilot streaming and watchdogs: frozen views in, an answer out."""
