"""Runs the migrations over the connection that `control.store.schema` hands in."""

from alembic import context

from control.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
