/**
 * Checks prices: whether dry runs of pictures that were not learnt from say what the calls then cost, whether what is charged is what is
 * metered, and what limits and budgets add to a call. `node dist/test/bench/cost.js`
 */
import { performance } from 'node:perf_hooks';
import sharp from 'sharp';
import { createLimiter, type EffectiveLimits } from '../../gateway/limits/limiter.js';
import { operatorToken, startTestGateway, type TestGateway } from '../gateway/harness.js';
import { createQuietLog } from '../gateway/usage/quiet.js';
import { atLeast, atMost, type Goal, median, printGoals, printTable } from './measure.js';
import { drawPhoto } from './pictures.js';

interface Kind {
  path: string;
  fields: Record<string, string>;
}

const kinds: Record<string, Kind> = {
  'border png': { path: '/media/add-border', fields: { width: '20' } },
  'border jpg': { path: '/media/add-border', fields: { width: '20', format: 'jpg' } },
  'watermark webp': { path: '/media/add-watermark', fields: { text: '© Example', format: 'webp' } },
  'resize avif': { path: '/media/resize', fields: { width: '320', format: 'avif' } },
};
/** Half of them are learnt from. */
const pictures = 64;
const [narrowest, widest] = [64, 2400];

const goals: Goal[] = [];
const api = await startTestGateway({
  HELPER_OPERATOR_TOKEN: operatorToken,
  HELPER_MAX_IMAGE_BYTES: '30MB',
  HELPER_CACHE_BYTES: '0',
});
await estimates(await drawPictures());
await sums();
await api.close();
await overhead();
printGoals(goals);

/** Of all widths, as many small ones as large ones in octaves, in a random order. */
async function drawPictures(): Promise<Buffer[]> {
  const bases = [await drawPhoto(2600, 1800), await drawPhoto(1800, 2400)];
  const drawn = Array.from({ length: pictures }, async (_, at) => {
    const width = Math.round(narrowest * (widest / narrowest) ** Math.random());
    return sharp(bases[at % bases.length])
      .resize({ width })
      .jpeg({ quality: 92 })
      .toBuffer();
  });
  return Promise.all(drawn);
}

async function ask(gateway: TestGateway, { path, fields }: Kind, picture: Buffer, key = gateway.key) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(picture)]));
  const answer = await gateway.call(path, { body: form, key });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  return { ms: Number(answer.headers.get('x-cost-ms')), cost: answer.json?.meta.cost?.cpu_ms };
}

async function estimates(drawn: readonly Buffer[]): Promise<void> {
  const half = drawn.length / 2;
  const rows: string[][] = [];
  let [covered, calls] = [0, 0];
  for (const [name, kind] of Object.entries(kinds)) {
    for (const picture of drawn.slice(0, half)) await ask(api, kind, picture);
    const held: { ms: number; p50: number; p95: number }[] = [];
    for (const picture of drawn.slice(half)) {
      const { cost } = await ask(api, { ...kind, fields: { ...kind.fields, dryrun: '1' } }, picture);
      const { ms } = await ask(api, kind, picture);
      held.push({ ms, p50: cost.p50, p95: cost.p95 });
    }
    const within = held.filter(({ ms, p95 }) => ms <= p95).length;
    covered += within;
    calls += held.length;
    const half50 = median(held.map(({ ms, p50 }) => ms / p50)).toFixed(2);
    const wide = median(held.map(({ p50, p95 }) => p95 / p50)).toFixed(2);
    rows.push([name, `${Math.round((100 * within) / held.length)} %`, half50, wide]);
  }
  printTable(['', 'within p95', 'cost / p50', 'p95 / p50'], rows);
  goals.push(atLeast(90, 'calls within the p95 of their dry run', (100 * covered) / calls, '%'));
}

/** Calls of three tenants at once: what their budgets lost, what answers said, and what usage has. */
async function sums(): Promise<void> {
  const picture = await drawPhoto(300, 200);
  const budget = 1_000_000;
  const differences = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => {
      await api.manage('/api/tenants', { name });
      await api.manage(`/api/tenants/${name}`, { monthly_cpu_ms: budget }, 'PATCH');
      const { key } = await api.manage(`/api/tenants/${name}/keys`);
      const spent: number[] = [];
      for (let call = 0; call < 100; call += 1) {
        const fields = { width: String(call + 1), format: 'jpg' };
        spent.push((await ask(api, { path: '/media/add-border', fields }, picture, key)).ms);
        const text = await api.call('/text/remove-stopwords?text=the+house', { key });
        spent.push(Number(text.headers.get('x-cost-ms')));
      }
      const charged = spent.reduce((sum, ms) => sum + ms, 0);
      const last = await api.call('/text/remove-stopwords?text=a', { key });
      const [, left] = /"cpu";r=(\d+)/.exec(last.headers.get('ratelimit') ?? '') ?? [];
      const metered = await meteredOf(name);
      return [budget - Number(left), metered].map((sum) => Math.abs(sum / charged - 1) * 100);
    }),
  );
  goals.push(
    atMost(1, 'charged beside metered CPU of a tenant, most apart', Math.max(...differences.flat()), '%'),
  );
}

async function meteredOf(tenant: string): Promise<number> {
  // Figures are at most five seconds behind.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const headers = { authorization: `Bearer ${operatorToken}` };
  const answer = await fetch(`${api.gateway.connectUrl}/api/tenants/${tenant}/usage`, { headers });
  const { usage } = ((await answer.json()) as { data: { usage: { cpu_ms: number }[] } }).data;
  return usage.reduce((sum, { cpu_ms }) => sum + cpu_ms, 0);
}

/** Microseconds that limits take of a call, in memory. */
async function overhead(): Promise<void> {
  const run = async () => undefined as never;
  const limiter = await createLimiter({
    access: { kind: 'sqlite', run, change: run },
    writer: { add: () => undefined, flush: async () => true, close: async () => undefined },
    logger: createQuietLog(),
  });
  const none: EffectiveLimits = { rate: 0, burst: 0, monthlyQuota: null, inFlight: null, monthlyCpuMs: null };
  const cases: Record<string, EffectiveLimits> = {
    'rate and quota': { ...none, rate: 1e9, monthlyQuota: 1e12 },
    'with a CPU budget': { ...none, rate: 1e9, monthlyQuota: 1e12, monthlyCpuMs: 1e12 },
  };
  const best: number[] = Object.values(cases).map(() => Number.POSITIVE_INFINITY);
  const calls = 20_000;
  for (let turn = 0; turn < 20; turn += 1) {
    for (const [at, limits] of Object.values(cases).entries()) {
      const began = performance.now();
      for (let call = 0; call < calls; call += 1) {
        const verdict = await limiter.take({ id: 'tenant', limits });
        if (!verdict.allowed) throw new Error(verdict.message);
        verdict.settle(200);
        verdict.charge(0.05);
      }
      best[at] = Math.min(best[at] as number, ((performance.now() - began) / calls) * 1000);
    }
  }
  printTable(
    ['limits of a call', 'µs'],
    Object.keys(cases).map((name, at) => [name, (best[at] as number).toFixed(2)]),
  );
  goals.push(atMost(3, 'what a budget adds to a call', (best[1] as number) - (best[0] as number), 'µs'));
}
