// The shop with Prisma

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { check, claim, plain, server } from './shop.js';

const here = fileURLToPath(new URL('.', import.meta.url));

const prisma = (...command) => execFileSync('node_modules/.bin/prisma', command, {
  cwd: here,
  env: {
    ...process.env,
    DATABASE_URL: 'postgresql://', // unused: see prisma.config.js
    CHECKPOINT_DISABLE: '1',
    PRISMA_QUERY_ENGINE_LIBRARY: '/dev/null', // or it would be downloaded
  },
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'pipe'],
});

if (process.argv[2] === 'sql') {
  process.stdout.write(prisma('migrate', 'diff', '--from-empty', '--to-schema-datamodel', 'schema.prisma', '--script'));
} else {
  prisma('generate');

  const { PrismaClient } = (await import('@prisma/client')).default;
  const client = new PrismaClient({ adapter: new PrismaPg(server) });
  const withText = (row) => ({ ...row, id: String(row.id) });

  await check({
    // As "prisma migrate deploy" does it
    migrate: () => plain(readFileSync(`${here}/prisma.sql`, 'utf8')),
    addCustomer: async (name) => withText(await client.customer.create({ data: { name } })),
    async addCustomers(names) {
      return (await client.customer.createManyAndReturn({ data: names.map((name) => ({ name })) })).map(withText);
    },
    addTag: (name) => client.tag.create({ data: { name } }),
    async addOrder(customer, item, tags) {
      return withText(await client.order.create({
        data: { customerId: BigInt(customer.id), item, tags: { create: tags.map((tag) => ({ tagId: tag.id })) } },
      }));
    },
    async addInvoice(order) {
      return { orderId: String((await client.invoice.create({ data: { orderId: BigInt(order.id) } })).orderId) };
    },
    async findOrder(id) {
      const order = await client.order.findUnique({
        where: { id: BigInt(id) },
        include: { customer: true, tags: { include: { tag: true } } },
      });

      return { ...withText(order), customer: withText(order.customer), tags: order.tags.map(({ tag }) => tag) };
    },
    removeCustomer: async (id) => (await client.customer.deleteMany({ where: { id: BigInt(id) } })).count,
  }, { customer: 'Customer', order: 'Order', orderTag: 'OrderTag', orderId: 'orderId' });
  claim(typeof (await client.customer.findFirst()).id === 'bigint', 'Prisma itself gives a BigInt');
  await client.$disconnect();
}
