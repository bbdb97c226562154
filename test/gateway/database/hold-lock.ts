import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const script = `
  const Database = require(process.argv[1]);
  const database = new Database(process.argv[2]);
  database.exec('begin exclusive');
  console.log('held');
  process.stdin.once('end', () => { database.exec('commit'); database.close(); }).resume();
`;

/** Has another process lock the SQLite database in a folder; resolves once it is locked, and gives what ends that. */
export async function holdLock(folder: string): Promise<() => Promise<void>> {
  const libsql = createRequire(import.meta.url).resolve('libsql');
  const child = spawn(process.execPath, ['-e', script, libsql, join(folder, 'gateway.db')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return async function release() {
    child.stdin.end();
    await ended;
  };
}
