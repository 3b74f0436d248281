"""How a network is run: kernel, simulator, faults, scenarios, command line."""
