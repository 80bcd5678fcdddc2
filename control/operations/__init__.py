"""What the product does: one operation is one function, one transaction, one sentence.

An operation takes the plane first, decides inside its transaction, and acts after the commit (rings a job, wakes a
host). It answers with contract models or raises a `Refusal`; rows never leave it. Every operation may run twice.
"""
