// Takes items of a tenant and prolongs their leases until it is killed: `node hold-items.js KIND LOCATION LEASE_MS COUNT`.
import { openQueue, type QueueAddress } from './queues.js';

const [kind, location = '', leaseMs, count] = process.argv.slice(2);
const queue = await openQueue({ kind: kind as QueueAddress['kind'], location }, { leaseMs: Number(leaseMs) });
const leases = await queue.lease('acme', Number(count));
console.log(`holds ${leases.length}`);
for (;;) {
  await queue.extend(leases);
  console.log('still');
  await new Promise((resolve) => setTimeout(resolve, Number(leaseMs) / 4));
}
