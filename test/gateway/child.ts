import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';

/** A process that a test started, and what it has written so far. */
export interface Child {
  readonly process: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Both, as they came. */
  written(): string;
  /** Waits until `look` finds something in what is written; rejects, and says what was, where the process ends before. */
  until<T>(look: () => T): Promise<NonNullable<T>>;
  /** Its exit code, once it has ended and all that it wrote has come; null where a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Where a hook ran out of time, nobody but this knows of what it started, and the tests would never end. */
const living = new Set<ChildProcess>();
let isOver = false;
if (typeof after === 'function') {
  after(() => {
    isOver = true;
    for (const child of living) child.kill('SIGKILL');
  });
}

/** Starts a process; nothing is its standard input unless `options` say otherwise. */
export function startChild(command: string, args: string[], options: SpawnOptions = {}): Child {
  if (isOver) throw new Error('the tests are over');
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const news = new EventEmitter().setMaxListeners(0);
  const said = { stdout: '', stderr: '', written: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      said.written += text;
      news.emit('more');
    });
  }
  living.add(child);
  let end: string | undefined;
  const ended = once(child, 'close').then(([code, signal]) => {
    living.delete(child);
    end = `${code ?? signal}`;
    news.emit('more');
    return code as number | null;
  });
  return {
    process: child,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    written: () => said.written,
    ended,
    async until(look) {
      for (;;) {
        const found = look();
        if (found) return found;
        if (end !== undefined) throw new Error(`ended with ${end}: ${said.written}`);
        await once(news, 'more');
      }
    },
  };
}
