-- Rails: ActiveRecord 7.2.2.2 (Debian 13)
-- Made in an empty database by: ruby make/rails.rb

CREATE TABLE "schema_migrations" ("version" character varying NOT NULL PRIMARY KEY);
CREATE TABLE "ar_internal_metadata" ("key" character varying NOT NULL PRIMARY KEY, "value" character varying, "created_at" timestamp(6) NOT NULL, "updated_at" timestamp(6) NOT NULL);
INSERT INTO "ar_internal_metadata" ("key", "value", "created_at", "updated_at") VALUES ('environment', 'default_env', '2026-12-01 00:48:40.260770', '2026-12-01 00:48:40.260773') RETURNING "key";
BEGIN;
CREATE TABLE "customers" ("id" bigserial primary key, "name" character varying NOT NULL);
CREATE TABLE "orders" ("id" bigserial primary key, "customer_id" bigint NOT NULL, "item" character varying NOT NULL, CONSTRAINT "fk_rails_3dad120da9"
FOREIGN KEY ("customer_id")
  REFERENCES "customers" ("id")
);
CREATE INDEX "index_orders_on_customer_id" ON "orders" ("customer_id");
CREATE TABLE "tags" ("id" serial NOT NULL PRIMARY KEY, "name" character varying NOT NULL);
CREATE TABLE "order_tags" ("order_id" bigint NOT NULL, "tag_id" integer NOT NULL, PRIMARY KEY ("order_id", "tag_id"), CONSTRAINT "fk_rails_8c4090272d"
FOREIGN KEY ("order_id")
  REFERENCES "orders" ("id")
, CONSTRAINT "fk_rails_2b31570578"
FOREIGN KEY ("tag_id")
  REFERENCES "tags" ("id")
);
CREATE INDEX "index_order_tags_on_tag_id" ON "order_tags" ("tag_id");
CREATE TABLE "invoices" ("order_id" bigint NOT NULL PRIMARY KEY, CONSTRAINT "fk_rails_4fa42a6dca"
FOREIGN KEY ("order_id")
  REFERENCES "orders" ("id")
);
INSERT INTO "schema_migrations" ("version") VALUES ('20260101000000') RETURNING "version";
COMMIT;
BEGIN;
CREATE TABLE "shipments" ("id" bigserial primary key, "order_id" bigint NOT NULL, CONSTRAINT "fk_rails_9892d6a938"
FOREIGN KEY ("order_id")
  REFERENCES "orders" ("id")
);
CREATE INDEX "index_shipments_on_order_id" ON "shipments" ("order_id");
INSERT INTO "schema_migrations" ("version") VALUES ('20260101000001') RETURNING "version";
COMMIT;
