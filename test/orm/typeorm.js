// The shop with TypeORM

import { DataSource, EntitySchema } from 'typeorm';
import { check, claim, options, plain, server } from './shop.js';

const text = { type: 'varchar' };

const Customer = new EntitySchema({
  name: 'Customer',
  tableName: 'customer',
  columns: { id: { type: 'bigint', primary: true, generated: 'increment' }, name: text },
});

const Tag = new EntitySchema({
  name: 'Tag',
  tableName: 'tag',
  columns: { id: { type: 'int', primary: true, generated: 'increment' }, name: text },
});

const Order = new EntitySchema({
  name: 'Order',
  tableName: 'order',
  columns: { id: { type: 'bigint', primary: true, generated: 'identity' }, item: text },
  relations: {
    customer: { type: 'many-to-one', target: 'Customer', nullable: false },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: { name: 'order_tag' } },
  },
});

const Invoice = new EntitySchema({
  name: 'Invoice',
  tableName: 'invoice',
  columns: { orderId: { type: 'bigint', primary: true } },
  relations: {
    order: { type: 'one-to-one', target: 'Order', joinColumn: { name: 'orderId' } },
  },
});

const connect = (entities, settings) => new DataSource({
  type: 'postgres',
  host: server.host,
  port: server.port,
  username: server.user,
  database: server.database,
  entities,
  ...settings,
}).initialize();

// What synchronize() would do
const changes = async (source) => (await source.driver.createSchemaBuilder().log()).upQueries.map(({ query }) => query);

const shop = [Customer, Tag, Order, Invoice];

if (process.argv[2] === 'sql') {
  const source = await connect(shop);

  console.log((await changes(source)).map((query) => `${query};`).join('\n'));
  await source.destroy();
} else {
  const source = await connect(shop, { extra: { options } });
  const of = (entity) => source.getRepository(entity);

  await check({
    migrate: () => source.synchronize(),
    addCustomer: (name) => of(Customer).save({ name }),
    addCustomers: (names) => of(Customer).save(names.map((name) => ({ name }))),
    addTag: (name) => of(Tag).save({ name }),
    addOrder: (customer, item, tags) => of(Order).save({ customer, item, tags }),
    addInvoice: (order) => of(Invoice).save({ orderId: order.id, order }),
    findOrder: (id) => of(Order).findOne({ where: { id }, relations: { customer: true, tags: true } }),
    removeCustomer: async (id) => (await of(Customer).delete(id)).affected,
  }, { customer: 'customer', order: 'order', orderTag: 'order_tag', orderId: 'orderId' });
  claim((await changes(source)).some((query) => /"id" SET DEFAULT nextval/.test(query)),
    'synchronizing again would go back to a sequence');
  await source.destroy();

  // Said in the model, it stays.  Numbers, since the layout allows them.
  await plain("SELECT cosid.cosid_create('ticket', safe_javascript => true)");

  const Ticket = new EntitySchema({
    name: 'Ticket',
    tableName: 'ticket',
    columns: { id: { type: 'bigint', primary: true, default: () => "cosid.cosid_next('ticket')" }, subject: text },
  });
  const tickets = await connect([Ticket], { parseInt8: true });

  await tickets.synchronize();
  claim((await changes(tickets)).length === 0, 'a default in the model: synchronizing again changes nothing');

  const { id } = await tickets.getRepository(Ticket).save({ subject: 'lost' });

  claim(Number.isSafeInteger(id) && String(id) === (await plain('SELECT id::text FROM ticket'))[0],
    'safe_javascript: an inserted row has its ID, as an exact number');
  claim((await tickets.getRepository(Ticket).findOneBy({ id })).subject === 'lost', 'safe_javascript: it is found by it');
  await tickets.destroy();
}
