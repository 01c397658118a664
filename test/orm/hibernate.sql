-- Hibernate 3.6.10 (Debian 12)
-- Made by: javac make/Hibernate.java && java -cp make Hibernate

create table customer (id  bigserial not null, name varchar(255) not null, primary key (id));
create table invoice (order_id int8 not null, primary key (order_id));
create table order_tag (order_id int8 not null, tag_id int4 not null, primary key (order_id, tag_id));
create table orders (id  bigserial not null, item varchar(255) not null, customer_id int8 not null, primary key (id));
create table tag (id  serial not null, name varchar(255) not null, primary key (id));
alter table invoice add constraint FK74D6432D30AD57E8 foreign key (order_id) references orders;
alter table order_tag add constraint FKE8AE1F29E8C047E8 foreign key (tag_id) references tag;
alter table order_tag add constraint FKE8AE1F2930AD57E8 foreign key (order_id) references orders;
alter table orders add constraint FKC3DF62E598125D4C foreign key (customer_id) references customer;
