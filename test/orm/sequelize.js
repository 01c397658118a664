// The shop with Sequelize

import pg from 'pg';
import { DataTypes, Sequelize } from 'sequelize';
import { check, claim, options, plain, server } from './shop.js';

const printSql = process.argv[2] === 'sql';
const log = [];

const sequelize = new Sequelize(server.database, server.user, null, {
  dialect: 'postgres',
  host: server.host,
  port: server.port,
  dialectOptions: printSql ? {} : { options },
  define: { timestamps: false },
  logging: (line) => log.push(line.replace(/^Executing \(\w+\): /, '')),
});

// Functions, since define() writes into what it is given
const id = (type) => ({ type, primaryKey: true, autoIncrement: true });
const text = () => ({ type: DataTypes.STRING, allowNull: false });

const Customer = sequelize.define('customer', { id: id(DataTypes.BIGINT), name: text() });
const Tag = sequelize.define('tag', { id: id(DataTypes.INTEGER), name: text() });
const Order = sequelize.define('order', { id: id(DataTypes.BIGINT), item: text() });
const OrderTag = sequelize.define('order_tag', {});
const Invoice = sequelize.define('invoice', { orderId: { type: DataTypes.BIGINT, primaryKey: true } });

Order.belongsTo(Customer, { foreignKey: { allowNull: false } });
Order.belongsToMany(Tag, { through: OrderTag });
Tag.belongsToMany(Order, { through: OrderTag });
Invoice.belongsTo(Order, { foreignKey: 'orderId' });

if (printSql) {
  await sequelize.sync();
  console.log(log.filter((sql) => sql.startsWith('CREATE')).join('\n'));
} else {
  await check({
    migrate: () => sequelize.sync(),
    addCustomer: (name) => Customer.create({ name }),
    addCustomers: (names) => Customer.bulkCreate(names.map((name) => ({ name }))),
    addTag: (name) => Tag.create({ name }),
    async addOrder(customer, item, tags) {
      const order = await Order.create({ customerId: customer.id, item });

      await order.addTags(tags);
      return order;
    },
    addInvoice: (order) => Invoice.create({ orderId: order.id }),
    findOrder: (id) => Order.findByPk(id, { include: [Customer, Tag] }),
    removeCustomer: (id) => Customer.destroy({ where: { id } }),
  }, { customer: 'customers', order: 'orders', orderTag: 'order_tags', orderId: 'orderId' });

  log.length = 0;
  await sequelize.sync({ alter: true });
  claim(log.length > 0 && !log.some((sql) => /SEQUENCE|nextval|"id" .*DEFAULT/.test(sql)), 'sync({ alter: true }) leaves the keys as they are');

  // Said in the model.  Numbers, since the layout allows them.
  await plain("SELECT cosid.cosid_create('ticket', safe_javascript => true)");
  pg.types.setTypeParser(pg.types.builtins.INT8, Number);

  const Ticket = sequelize.define('ticket', {
    id: { type: DataTypes.BIGINT, primaryKey: true, defaultValue: Sequelize.literal("cosid.cosid_next('ticket')") },
    subject: text(),
  });

  await Ticket.sync();

  const { id } = await Ticket.create({ subject: 'lost' });

  claim(Number.isSafeInteger(id) && String(id) === (await plain('SELECT id::text FROM tickets'))[0],
    'safe_javascript, a default in the model: an inserted row has its ID, as an exact number');
  claim((await Ticket.findByPk(id)).subject === 'lost', 'safe_javascript: it is found by it');
}
await sequelize.close();
