"""Capacity planning from short controlled runs, as in StreamBed (DEBS'24): decisions only, without clock and I/O."""
