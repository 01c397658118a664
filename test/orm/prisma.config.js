// Migrations go through the driver, too: no engine has to be downloaded.

import { PrismaPg } from '@prisma/adapter-pg';
import { defineConfig } from 'prisma/config';
import { options, server } from './shop.js';

export default defineConfig({
  schema: 'schema.prisma',
  experimental: { adapter: true },
  engine: 'js',
  adapter: async () => new PrismaPg({ ...server, options, idleTimeoutMillis: 10 }),
  migrations: { path: process.env.MIGRATIONS },
});
