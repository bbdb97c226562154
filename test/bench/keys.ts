/** Prints what checking a key costs a call: one that was seen, one with a typing error, one that nobody issued. */
import { createFirstTenant } from '../../gateway/keys/key-changes.js';
import { createKey } from '../../gateway/keys/key-format.js';
import { createKeyVerifier } from '../../gateway/keys/verifier.js';
import { createSqliteDatabase } from '../gateway/databases.js';

const database = await createSqliteDatabase();
const store = await database.open();
const first = await createFirstTenant(store);
const verifier = createKeyVerifier({ store });

async function measure(name: string, rounds: number, key: () => string): Promise<void> {
  await verifier.verify(key());
  const start = performance.now();
  for (let round = 0; round < rounds; round += 1) await verifier.verify(key());
  console.log(`${name}: ${(((performance.now() - start) / rounds) * 1000).toFixed(1)} µs`);
}

const known = first?.key ?? '';
await measure('a key that was seen', 50_000, () => known);
await measure('a key with a typing error', 50_000, () => `${known.slice(0, -1)}-`);
await measure('a key that nobody issued, SQLite', 2_000, createKey);

await verifier.close();
await database.drop();
