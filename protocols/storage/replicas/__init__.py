"""On-line storage management: holistic and myopic stores (replicas, IV), one writer or many."""
