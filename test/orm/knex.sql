-- Knex 3.3.0
-- Made in an empty database by: node knex.js sql

create table "knex_migrations" ("id" serial primary key, "name" varchar(255), "batch" integer, "migration_time" timestamptz);
create table "knex_migrations_lock" ("index" serial primary key, "is_locked" integer);
create table "customers" ("id" bigserial primary key, "name" varchar(255) not null);
create table "tags" ("id" serial primary key, "name" varchar(255) not null);
create table "orders" ("id" bigserial primary key, "customer_id" bigint not null, "item" varchar(255) not null);
alter table "orders" add constraint "orders_customer_id_foreign" foreign key ("customer_id") references "customers" ("id");
create table "order_tags" ("order_id" bigint not null, "tag_id" integer not null, constraint "order_tags_pkey" primary key ("order_id", "tag_id"));
alter table "order_tags" add constraint "order_tags_order_id_foreign" foreign key ("order_id") references "orders" ("id");
alter table "order_tags" add constraint "order_tags_tag_id_foreign" foreign key ("tag_id") references "tags" ("id");
create table "invoices" ("order_id" bigint, constraint "invoices_pkey" primary key ("order_id"));
alter table "invoices" add constraint "invoices_order_id_foreign" foreign key ("order_id") references "orders" ("id");
