-- Django 3.2.25 (Debian 12)
-- Made in an empty database by: django-admin makemigrations shop && django-admin sqlmigrate shop 0001, in make/django

BEGIN;
--
-- Create model Customer
--
CREATE TABLE "shop_customer" ("id" bigserial NOT NULL PRIMARY KEY, "name" varchar(100) NOT NULL);
--
-- Create model Order
--
CREATE TABLE "shop_order" ("id" bigserial NOT NULL PRIMARY KEY, "item" varchar(100) NOT NULL, "customer_id" bigint NOT NULL);
--
-- Create model Tag
--
CREATE TABLE "shop_tag" ("id" serial NOT NULL PRIMARY KEY, "name" varchar(100) NOT NULL);
--
-- Create model Invoice
--
CREATE TABLE "shop_invoice" ("order_id" bigint NOT NULL PRIMARY KEY);
--
-- Add field tags to order
--
CREATE TABLE "shop_order_tags" ("id" bigserial NOT NULL PRIMARY KEY, "order_id" bigint NOT NULL, "tag_id" integer NOT NULL);
ALTER TABLE "shop_order" ADD CONSTRAINT "shop_order_customer_id_f638df20_fk_shop_customer_id" FOREIGN KEY ("customer_id") REFERENCES "shop_customer" ("id") DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX "shop_order_customer_id_f638df20" ON "shop_order" ("customer_id");
ALTER TABLE "shop_invoice" ADD CONSTRAINT "shop_invoice_order_id_1ed1a945_fk_shop_order_id" FOREIGN KEY ("order_id") REFERENCES "shop_order" ("id") DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "shop_order_tags" ADD CONSTRAINT "shop_order_tags_order_id_tag_id_2fbdacc8_uniq" UNIQUE ("order_id", "tag_id");
ALTER TABLE "shop_order_tags" ADD CONSTRAINT "shop_order_tags_order_id_5bb25cfa_fk_shop_order_id" FOREIGN KEY ("order_id") REFERENCES "shop_order" ("id") DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE "shop_order_tags" ADD CONSTRAINT "shop_order_tags_tag_id_9a3f0a99_fk_shop_tag_id" FOREIGN KEY ("tag_id") REFERENCES "shop_tag" ("id") DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX "shop_order_tags_order_id_5bb25cfa" ON "shop_order_tags" ("order_id");
CREATE INDEX "shop_order_tags_tag_id_9a3f0a99" ON "shop_order_tags" ("tag_id");
COMMIT;
