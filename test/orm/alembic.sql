-- Alembic 1.13.2 with SQLAlchemy 2.0.40 (Debian 13)
-- Made in an empty database by: alembic revision --autogenerate -m shop && alembic upgrade head --sql, in make/alembic

BEGIN;

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, 
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 1

CREATE TABLE customer (
    id BIGSERIAL NOT NULL, 
    name VARCHAR(100) NOT NULL, 
    PRIMARY KEY (id)
);

CREATE TABLE tag (
    id SERIAL NOT NULL, 
    name VARCHAR(100) NOT NULL, 
    PRIMARY KEY (id)
);

CREATE TABLE "order" (
    id BIGSERIAL NOT NULL, 
    customer_id BIGINT NOT NULL, 
    item VARCHAR(100) NOT NULL, 
    PRIMARY KEY (id), 
    FOREIGN KEY(customer_id) REFERENCES customer (id)
);

CREATE TABLE invoice (
    order_id BIGINT NOT NULL, 
    PRIMARY KEY (order_id), 
    FOREIGN KEY(order_id) REFERENCES "order" (id)
);

CREATE TABLE order_tag (
    order_id BIGINT NOT NULL, 
    tag_id INTEGER NOT NULL, 
    PRIMARY KEY (order_id, tag_id), 
    FOREIGN KEY(order_id) REFERENCES "order" (id), 
    FOREIGN KEY(tag_id) REFERENCES tag (id)
);

INSERT INTO alembic_version (version_num) VALUES ('1') RETURNING alembic_version.version_num;

COMMIT;

