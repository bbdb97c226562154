import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const script = `
  const Database = require(process.argv[1]);
  const database = new Database(process.argv[2]);
  let held = false;
  process.stdin.on('data', () => {
    database.exec(held ? 'commit' : 'begin exclusive');
    held = !held;
    console.log('done');
  });
`;

/** Another process that can lock the SQLite database of a folder. */
export interface LockHolder {
  /** Resolves once it is locked; gives what ends that. */
  hold(): Promise<() => Promise<unknown>>;
  end(): Promise<unknown>;
}

export function startLockHolder(folder: string): LockHolder {
  const libsql = createRequire(import.meta.url).resolve('libsql');
  const child = spawn(process.execPath, ['-e', script, libsql, join(folder, 'gateway.db')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  async function change(): Promise<void> {
    const done = once(child.stdout, 'data');
    child.stdin.write('.');
    await done;
  }
  return {
    async hold() {
      await change();
      return change;
    },
    end() {
      child.stdin.end();
      return ended;
    },
  };
}
