import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, Worker } from 'node:worker_threads';
import { type GatewayProcess, servingPid, startGatewayProcess } from '../gateway/harness.js';

/**
 * Preloaded into a gateway under attack: collects garbage at SIGUSR2. A heap that has grown keeps its pages until there is reason
 * to look through it; what is judged is what is still held, not what V8 has not given back yet.
 */

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', async () => {
    // What is held by finalizers and weak tables alone goes only with a later one.
    for (let times = 0; times < 4; times += 1) {
      collect();
      await sleep(20);
    }
  });
}

/** A gateway as a process of its own, the source that attacks name, and keys. */
export type World = Awaited<ReturnType<typeof startWorld>>;

const operatorToken = 'Yq7Zk2Wm9Xc4Vb8Nj3Lh6Pd1Rf5Tg0Qs';

export async function startWorld(env: NodeJS.ProcessEnv = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
  const picture = await readFile(new URL('../../../plugins/media/example.jpg', import.meta.url));
  const source = new Worker(new URL('./source-worker.js', import.meta.url), { workerData: picture });
  const [port] = (await once(source, 'message')) as [number];
  // Where the gateway does not start, it is not closed.
  source.unref();
  const origin = `http://127.0.0.1:${port}`;
  const gateway = await startGatewayProcess({
    HELPER_DATA_DIR: dataDir,
    HELPER_POOL_THREADS: '2',
    HELPER_RATE: '0',
    HELPER_SOURCE_ORIGINS: origin,
    HELPER_OPERATOR_TOKEN: operatorToken,
    NODE_OPTIONS: `--import=${new URL('./world.js', import.meta.url)}`,
    LOG_LEVEL: 'error',
    // What is freed is given back, so that memory shows what is held and not what glibc keeps for the next time.
    MALLOC_MMAP_THRESHOLD_: '65536',
    MALLOC_TRIM_THRESHOLD_: '131072',
    ...env,
  });
  const faults = faultsOf(gateway);
  await command(gateway, '/api/tenants', { name: 'quiet' });
  const issueKey = async (tenant: string) =>
    (await command(gateway, `/api/tenants/${tenant}/keys`, {})).key as string;
  return {
    url: gateway.url,
    siteUrl: gateway.connect_url,
    pid: servingPid(gateway),
    /** Origin of the source, which the gateway may fetch from. */
    source: origin,
    /** A small photograph. */
    picture,
    /** The attacker's key; its tenant has no rate. */
    key: gateway.first_key?.key ?? '',
    /** A key of another tenant. */
    quietKey: await issueKey('quiet'),
    issueKey,
    alive: () => gateway.child.exitCode === null && gateway.child.signalCode === null,
    /** Has the gateway collect its garbage. */
    collect: () => void process.kill(servingPid(gateway), 'SIGUSR2'),
    /** What the gateway logged of its own faults, the last few. */
    said: () => faults.slice(-3),
    async close() {
      await gateway.stop('SIGKILL');
      await source.terminate();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** Lines of the log that show a bug, and what a dying process prints. */
function faultsOf({ child }: GatewayProcess): string[] {
  const faults: string[] = [];
  const keep = (line: string) => {
    const isFault = !line.startsWith('{') || (JSON.parse(line) as { code?: string }).code === 'internal';
    if (isFault && line.trim() !== '') faults.push(line.slice(0, 500));
  };
  if (child.stdout) createInterface({ input: child.stdout }).on('line', keep);
  if (child.stderr) createInterface({ input: child.stderr }).on('line', keep);
  return faults;
}

async function command(gateway: GatewayProcess, path: string, body: object) {
  const response = await fetch(`${gateway.connect_url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { data: Record<string, unknown> }).data;
}
