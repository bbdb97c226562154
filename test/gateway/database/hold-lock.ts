import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const script = `
  const Database = require(process.argv[1]);
  const database = new Database(process.argv[2]);
  database.exec('begin exclusive');
  console.log('held');
  setTimeout(() => { database.exec('commit'); database.close(); }, Number(process.argv[3]));
`;

/** Has another process lock the SQLite database in a folder, from now on and for `ms` milliseconds; resolves once it is locked. */
export async function holdLock(folder: string, ms: number): Promise<{ released: Promise<unknown> }> {
  const libsql = createRequire(import.meta.url).resolve('libsql');
  const child = spawn(process.execPath, ['-e', script, libsql, join(folder, 'gateway.db'), String(ms)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const released = once(child, 'exit');
  await once(child.stdout, 'data');
  return { released };
}
