/**
 * A process that counts calls until it is told to stop, for tests that end it. Takes a database address as JSON and
 * a flush interval in milliseconds; sends the number of calls counted so far over IPC.
 */
import { createBatchWriter } from '../../../gateway/database/batch-writer.js';
import { createUsageMeter } from '../../../gateway/usage/meter.js';
import { connect } from '../databases.js';
import { createQuietLog } from './quiet.js';

const [address = '{}', flushEveryMs = '500'] = process.argv.slice(2);
const database = await connect(JSON.parse(address));
const logger = createQuietLog();
const writer = createBatchWriter({ access: database.access(), logger, flushEveryMs: Number(flushEveryMs) });
const meter = createUsageMeter({ access: database.access(), writer, logger });

let counted = 0;
const timer = setInterval(() => {
  const outcome = { status: 200, code: 'ok', ms: 1, requestId: 'r' };
  meter.record({ tenant: 't', key: 'k', service: 's', ...outcome, bytesIn: 1, bytesOut: 1, cpuMs: 0 });
  counted += 1;
  process.send?.(counted);
}, 5);

process.once('SIGTERM', async () => {
  clearInterval(timer);
  await meter.close();
  await writer.close();
  await database.close();
  process.disconnect();
});
