"""Redis: words between the processes, what is remembered of leases, and the gate in front of the doorbell.

Nothing here is ever the only way in which something becomes known: a sweep or the next poll finds what was lost. So a
sender bounds its time, swallows its errors, and says once that Redis is away.
"""
