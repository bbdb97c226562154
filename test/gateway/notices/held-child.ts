/** Adds notices and stands still before it commits, until it is ended by `kill -9`. */
import { pino } from 'pino';
import type { NoticeTables } from '../../../gateway/notices/store.js';
import { openNotices } from '../../../gateway/notices/watch.js';
import { connect, type DatabaseAddress } from '../databases.js';

const [kind, location] = process.argv.slice(2) as [DatabaseAddress['kind'], string];
const access = (await connect({ kind, location })).access<NoticeTables>();
openNotices({
  config: { webhookOrigins: [] },
  access: {
    ...access,
    change: (work) =>
      access.change(async (trx) => {
        await work(trx);
        console.log('added');
        return new Promise(() => undefined);
      }),
  },
  secrets: { available: true },
  wake() {},
  logger: pino({ level: 'silent' }),
}).start();
setInterval(() => undefined, 60_000);
