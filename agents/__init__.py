"""Who lives on the network: one file per kind of node, wired from protocols."""
