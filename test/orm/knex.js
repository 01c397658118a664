// The shop with Knex

import knex from 'knex';
import pg from 'pg';
import { check, claim, options, plain, server } from './shop.js';

const printSql = process.argv[2] === 'sql';
const db = knex({ client: 'pg', connection: printSql ? server : { ...server, options } });

async function up(db) {
  await db.schema.createTable('customers', (table) => {
    table.bigIncrements('id');
    table.string('name').notNullable();
  });
  await db.schema.createTable('tags', (table) => {
    table.increments('id');
    table.string('name').notNullable();
  });
  await db.schema.createTable('orders', (table) => {
    table.bigIncrements('id');
    table.bigInteger('customer_id').notNullable().references('customers.id');
    table.string('item').notNullable();
  });
  await db.schema.createTable('order_tags', (table) => {
    table.bigInteger('order_id').notNullable().references('orders.id');
    table.integer('tag_id').notNullable().references('tags.id');
    table.primary(['order_id', 'tag_id']);
  });
  await db.schema.createTable('invoices', (table) => {
    table.bigInteger('order_id').primary().references('orders.id');
  });
}

const migrate = () => db.migrate.latest({
  migrationSource: {
    getMigrations: async () => ['shop'],
    getMigrationName: (name) => name,
    getMigration: async () => ({ up, down() {} }),
  },
});

if (printSql) {
  db.on('query', ({ sql }) => {
    if (/^(create|alter)/.test(sql)) console.log(`${sql};`);
  });
  await migrate();
} else {
  const add = async (table, row) => (await db(table).insert(row).returning('*'))[0];

  await check({
    migrate,
    addCustomer: (name) => add('customers', { name }),
    addCustomers: (names) => db('customers').insert(names.map((name) => ({ name }))).returning('*'),
    addTag: (name) => add('tags', { name }),
    async addOrder(customer, item, tags) {
      const order = await add('orders', { customer_id: customer.id, item });

      for (const tag of tags) await add('order_tags', { order_id: order.id, tag_id: tag.id });
      return order;
    },
    addInvoice: async (order) => ({ orderId: (await add('invoices', { order_id: order.id })).order_id }),
    async findOrder(id) {
      const order = await db('orders').where({ id }).first();

      order.customer = await db('customers').where({ id: order.customer_id }).first();
      order.tags = await db('tags').join('order_tags', 'tags.id', 'tag_id').where({ order_id: id });
      return order;
    },
    removeCustomer: (id) => db('customers').where({ id }).del(),
  }, { customer: 'customers', order: 'orders', orderTag: 'order_tags', orderId: 'order_id' });

  // Numbers, where the layout allows them: the generator comes first.
  await plain("SELECT cosid.cosid_create('tickets', safe_javascript => true)");
  await db.schema.createTable('tickets', (table) => {
    table.bigIncrements('id');
    table.string('subject');
  });
  pg.types.setTypeParser(pg.types.builtins.INT8, Number);

  const { id } = await add('tickets', { subject: 'lost' });

  claim(Number.isSafeInteger(id) && String(id) === (await plain('SELECT id::text FROM tickets'))[0],
    'safe_javascript: an inserted row has its ID, as an exact number');
  claim((await db('tickets').where({ id }).first()).subject === 'lost', 'safe_javascript: it is found by it');

  await db.schema.createTable('notes', (table) => {
    table.bigInteger('id').primary().defaultTo(db.raw("cosid.cosid_next('note')"));
  });
  claim((await plain("SELECT count(*)::int FROM cosid.cosid_generator WHERE name = 'note'"))[0] === 1,
    'a default in the migration: its generator is the one that it names');
}
await db.destroy();
