import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Holds calls of the fixture helper `gate`, for as long as a test needs them under way. */
export interface Gate {
  /** What `gate` waits for, as its parameter and as the path of a call. */
  file: string;
  path: string;
  /** Lets all through. */
  open(): Promise<void>;
  close(): Promise<void>;
}

export async function createGate(): Promise<Gate> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-'));
  const file = join(folder, 'open');
  return {
    file,
    path: `/gate?path=${encodeURIComponent(file)}`,
    open: () => writeFile(file, ''),
    close: () => rm(folder, { recursive: true }),
  };
}

/** To be given to a gateway whose gauges are asked for. */
export const operatorToken = 'token-of-this-test-of-32-characters';

/** What a gauge of a gateway says now. */
export async function gauge(connectUrl: string, name: string): Promise<number> {
  const headers = { authorization: `Bearer ${operatorToken}` };
  const text = await (await fetch(new URL('/metrics', connectUrl), { headers })).text();
  const [, value] = new RegExp(`^helper_gateway_${name} (\\d+)$`, 'm').exec(text) ?? [];
  if (value === undefined) throw new Error(`no gauge ${name}: ${text}`);
  return Number(value);
}
