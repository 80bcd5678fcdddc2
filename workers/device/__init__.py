"""The one room that speaks adb.

Everything done to a phone is an `Action` handed to `Device.perform`, which answers with an `Outcome`; everything seen
of it is an `Observation`. Nobody else imports adbutils. Every call has a total deadline, and every action asks
`may_touch` immediately before it is sent: a run whose lease is gone must not move a phone that somebody else holds.
"""
