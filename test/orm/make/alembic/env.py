from alembic import context
from sqlalchemy import create_engine

from models import Base

if context.is_offline_mode():
    context.configure(dialect_name='postgresql', target_metadata=Base.metadata)
    with context.begin_transaction():
        context.run_migrations()
else:
    # libpq's environment says which database
    with create_engine('postgresql+psycopg2://').connect() as connection:
        context.configure(connection=connection, target_metadata=Base.metadata)
        with context.begin_transaction():
            context.run_migrations()
