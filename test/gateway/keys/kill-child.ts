/** Changes keys for ever and says each change on stdout once it is acknowledged; ended by `kill -9`. */

import { writeSync } from 'node:fs';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { type DatabaseAddress, openStore } from '../databases.js';
import { signing } from '../signing/signing.js';
import { compileRecipe } from './recipe-compiler.js';

/** One acknowledged change; `key` is the secret that works from then on, or no longer does. */
export interface Acknowledged {
  done: 'create' | 'issue' | 'rotate' | 'revoke';
  tenant: string;
  key?: string;
}

const [kind, location, round] = process.argv.slice(2) as [DatabaseAddress['kind'], string, string];
const admin = createKeyAdmin({
  store: await openStore({ kind, location }),
  signing,
  compileRecipe,
  services: () => [],
});

for (let n = 0; n < 10_000; n++) {
  const tenant = `t-${round}-${n}`;
  await admin.createTenant(tenant, 'child');
  say({ done: 'create', tenant });
  const issued = await admin.issueKey(tenant, { label: 'x'.repeat(100) }, 'child');
  say({ done: 'issue', tenant, key: issued.key });
  const rotated = await admin.rotateKey(issued.id, { grace_seconds: 0 }, 'child');
  say({ done: 'rotate', tenant, key: rotated.key });
  await admin.revokeKey(issued.id, 'child');
  say({ done: 'revoke', tenant, key: rotated.key });
}

function say(acknowledged: Acknowledged): void {
  writeSync(1, `${JSON.stringify(acknowledged)}\n`);
}
