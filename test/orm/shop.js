// The shop (README.md) that each mapper here builds and fills, and what is
// claimed about its IDs.  "node MAPPER.js" prints a line for each claim, "ok ..."
// or "not ok ..."; "node MAPPER.js sql" prints the SQL that the mapper makes the
// schema with.  PGHOST and the like say where.

import pg from 'pg';

export const server = {
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  database: process.env.PGDATABASE,
};

// What an application has in its connection options
export const options = '-c cosid.column_default=serial';

export const claim = (holds, what) => console.log(`${holds ? 'ok' : 'not ok'} - ${what}`);

// A client without a mapper: the first column of the rows
export async function plain(sql, ...values) {
  const client = new pg.Client({ ...server, options });

  await client.connect();
  try {
    // Without values, several statements may be given.
    const result = await client.query(sql, values.length ? values : undefined);

    return result.rows?.map((row) => Object.values(row)[0]);
  } finally {
    await client.end();
  }
}

const ascending = (a, b) => (BigInt(a) < BigInt(b) ? -1 : 1);

// shop has migrate(), addCustomer(name), addCustomers(names), addTag(name),
// addOrder(customer, item, tags), addInvoice(order), findOrder(id) with its
// customer and tags, and removeCustomer(id), which gives how many.  The rows they
// give have an id (an invoice: orderId).  names: of tables and of a column.
export async function check(shop, names) {
  const started = Date.now();

  await shop.migrate();

  const sequences = await plain("SELECT relname FROM pg_class WHERE relkind = 'S' AND relname ~* 'customer|order|invoice'");
  const generators = await plain('SELECT name FROM cosid.cosid_generator');
  const first = await shop.addCustomer('first');
  const others = await shop.addCustomers(Array.from({ length: 100 }, (_, i) => `other ${i}`));
  const ids = [first, ...others].map((customer) => customer.id);
  const stored = await plain(`SELECT id::text FROM "${names.customer}" ORDER BY id`);
  const times = await plain('SELECT cosid.cosid_timestamp(id) FROM unnest($1::bigint[]) id', ids);

  claim(sequences.length === 0, 'no sequence is left behind');
  claim(generators.includes(names.customer) && generators.includes(names.order), 'the generators are named after the tables');
  claim(ids.length === 101 && ids.every((id) => typeof id === 'string'), 'an inserted row has its ID, as a string');
  claim(ids.every((id) => BigInt(id) > Number.MAX_SAFE_INTEGER), 'which would not be exact as a number');
  claim(JSON.parse(JSON.stringify(first)).id === first.id, 'and goes through JSON unchanged');
  claim(new Set(ids).size === 101, 'the IDs are distinct');
  claim([...ids].sort(ascending).join() === ids.join(), 'those of a list of rows are in its order');
  claim(ids.join() === stored.join(), 'they are what the database has');
  claim(times.every((time) => time >= started - 1000 && time <= Date.now() + 1000), 'they say that it is now');

  const tags = [await shop.addTag('red'), await shop.addTag('blue')];
  const order = await shop.addOrder(first, 'pen', tags);
  const invoice = await shop.addInvoice(order);
  const found = await shop.findOrder(order.id);

  claim(tags.map((tag) => tag.id).join() === '1,2', '4-byte keys count from 1');
  claim(found.id === order.id && found.item === 'pen', 'a row is found by its ID');
  claim(found.customer.id === first.id && found.customer.name === 'first', 'so is the row that it references');
  claim(found.tags.map((tag) => tag.name).sort().join() === 'blue,red', 'so are those of a join table');
  claim(invoice.orderId === order.id, 'a key that is a reference keeps its value');
  claim((await plain(`SELECT count(*)::int FROM "${names.orderTag}" WHERE "${names.orderId}" = $1`, order.id))[0] === 2,
    'the join table has the ID');
  claim(await shop.removeCustomer(ids[50]) === 1, 'one row is removed by its ID');
}
