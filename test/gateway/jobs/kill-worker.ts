/** Works on jobs, with leases and looks so short that a test need not wait for them, and says when it does; ended by `kill -9`. */
import { writeSync } from 'node:fs';
import { pino } from 'pino';
import { loadConfig } from '../../../gateway/config.js';
import { startWorker } from '../../../gateway/worker.js';

const [prefix = ''] = process.argv.slice(2);
const logger = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }));
await startWorker(loadConfig(process.env), logger, {
  tuning: { queue: { leaseMs: 600, prefix }, pollMs: 50 },
});
// Below a supervisor its channel keeps a worker alive; with SQLite and no call, nothing else does.
setInterval(() => undefined, 60_000);
writeSync(1, 'working\n');
