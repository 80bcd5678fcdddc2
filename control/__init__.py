"""The control plane: app → api | jobs → renewals → operations → store | signals → domain.

One operation is one function, one transaction and one sentence of the product. Routes and jobs are edges of a few lines
that open nothing, decide nothing, and call one operation.
"""
