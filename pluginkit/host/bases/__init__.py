"""The lifecycle of each interface: V2's (dynamic and ioext) and V3's."""
