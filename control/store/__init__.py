"""The one room with SQL. Every statement is a function with a name and a sentence.

Rules that hold for all of them:

- A change of status is **one conditional statement** keyed by task, lease and status. No row came back: read the row
  and answer from it. Reading first and writing afterwards loses races.
- Rows are locked in one order everywhere: hosts → devices → leases → scheduled_tasks → task_attempts → the rest.
  Statements over several rows lock them sorted by id, as `= ANY(ARRAY(SELECT … FOR UPDATE))`: that is run once, where
  an `IN (SELECT …)` may be run again for every row, and then its LIMIT limits nothing.
- The time is Postgres': `corral_now()`, which is `now()` plus an offset that only tests set.
- Rows do not leave the operation that read them.
"""
