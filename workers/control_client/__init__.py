"""The one room that speaks HTTP with the control plane.

What comes back over the network is believed only if it is ours: a body that decodes as the answer of that call and, for
a lease, names that lease. A proxy's page, a redirect or a 404 of some other server says nothing about a task; it is
`Unreachable`, and asking again is all that follows from it.
"""
