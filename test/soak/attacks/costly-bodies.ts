import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, createClient, inParallel } from '../client.js';
import { multipart, type Part } from '../mutate.js';
import { factsOf, resetPeak } from '../process-facts.js';
import { goodCalls, keepCalling, type Scenario, type Tally } from '../scenario.js';
import { watchHealth } from '../watch.js';

const million = 1_000_000;

function repeated(count: number, piece: (at: number) => string, between = ','): string {
  return Array.from({ length: count }, (_, at) => piece(at)).join(between);
}

function file(value: Uint8Array | string, head = ''): Part {
  return { name: 'file', filename: 'a.jpg', value, head };
}

/** Bodies that are cheap to send and dear to read. In all of them the key is right; none is more than 10 MB. */
function costlyBodies(key: string): { name: string; call: Call }[] {
  const text = `/text/remove-stopwords?ak=${key}`;
  const border = `/media/add-border?ak=${key}`;
  const message = (name: string, params: string, method = 'initialize') => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}}}`;
    return { name: `message: ${name}`, call: { path: `/mcp?ak=${key}`, body } };
  };
  const json = (name: string, body: string, path = text) => ({ name: `json: ${name}`, call: { path, body } });
  const form = (name: string, body: string, path = text) => ({
    name: `form: ${name}`,
    call: { path, body, type: 'application/x-www-form-urlencoded' },
  });
  const parts = (name: string, list: readonly Part[], boundary?: string, path = border) => ({
    name: `multipart: ${name}`,
    call: { path, ...multipart(list, boundary) },
  });
  return [
    json('130,000 unknown names', `{${repeated(130_000, (at) => `"${at.toString(36)}":1`)}}`),
    json('names that collide', `{${repeated(70_000, (at) => `"${at * 65_536}":1`)}}`),
    json('names that collide, nested', `{"a":{${repeated(70_000, (at) => `"${at * 65_536}":1`)}}}`),
    json('one name 100,000 times', `{${repeated(100_000, () => '"text":""')}}`),
    json('500,000 levels of arrays', `{"text":${'['.repeat(500_000)}${']'.repeat(500_000)}}`),
    json('150,000 levels of objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`),
    json('an array of 500,000', `{"text":"","keep":[${repeated(500_000, () => '1')}]}`),
    json('an unknown list of 350,000 lists', `{"text":"","a":[${repeated(340_000, () => '[]')}]}`),
    json('an array of 10,000 bad words', `{"text":"","keep":[${repeated(10_000, () => '"a b"')}]}`),
    json('control characters', `{"text":"${'\\u0001'.repeat(170_000)}"}`),
    json('a string of quotes', `{"text":"${'\\"'.repeat(500_000)}"}`),
    json('a million spaces', `${' '.repeat(million)}{}`),
    json('one long number', `{"text":${'9'.repeat(million)}}`),
    json(
      'unlike lines',
      `{"a":"${repeated(60_000, (at) => at.toString(36), '\\n')}","b":"${repeated(60_000, (at) => `x${at.toString(36)}`, '\\n')}"}`,
      `/text/diff-two-strings?ak=${key}`,
    ),
    message('a client of 500,000 icons', `"clientInfo":{"icons":[${repeated(500_000, () => '1')}]}`),
    message('a client of 15,000 icons', `"clientInfo":{"icons":[${repeated(15_000, () => '{}')}]}`),
    message(
      '350,000 capabilities',
      `"capabilities":{"experimental":{"a":[${repeated(350_000, () => '[]')}]}}`,
    ),
    message(
      '130,000 names',
      repeated(130_000, (at) => `"${at.toString(36)}":1`),
    ),
    message(
      'a list of 350,000',
      `"name":"media_resize","arguments":{"a":[${repeated(350_000, () => '[]')}]}`,
      'tools/call',
    ),
    form('a million &', '&'.repeat(million)),
    form(
      '500,000 names',
      repeated(500_000, () => 'a', '&'),
    ),
    form('150,000 names that collide', repeated(150_000, (at) => `${at * 65_536}`, '&').slice(0, million)),
    form('control characters', `text=${'\x01'.repeat(990_000)}`),
    form('escapes', `text=${'%01'.repeat(330_000)}`),
    form('a list of commas', `text=&keep=${','.repeat(900_000)}`),
    parts(
      '10,000 parts',
      Array.from({ length: 10_000 }, (_, at) => ({ name: `p${at}`, value: '1' })),
    ),
    parts('a disposition of filename="', [
      file('x', `Content-Disposition: form-data; name="file"; ${'filename="'.repeat(40_000)}x\r\n`),
    ]),
    parts('a file of carriage returns', [file('\r'.repeat(10_000_000))]),
    parts('a file of almost boundaries', [file('\r\n--b0undar'.repeat(900_000))]),
    parts('a file of dashes', [file('-'.repeat(10_000_000))]),
    parts('Content-Transfer-Encoding 7bit', [file('x', 'Content-Transfer-Encoding: 7bit\r\n')]),
    parts('Content-Transfer-Encoding base64', [
      file('A'.repeat(4_000_000), 'Content-Transfer-Encoding: base64\r\n'),
    ]),
    parts('a boundary called json', [file('x'.repeat(9_000_000))], 'json'),
    parts('a boundary called octet-stream', [file('x'.repeat(9_000_000))], 'octet-stream'),
    parts('a text field of 9 MB', [{ name: 'color', value: 'x'.repeat(9_000_000) }]),
    parts('control characters', [{ name: 'text', value: '\x01'.repeat(990_000) }], undefined, text),
  ];
}

/** The dearest to parse and to validate of what the limits on names, levels and bytes let through. */
function allowed(key: string): Call[] {
  const text = (word: string) => `"text":"${word}"`;
  const names = repeated(900, (at) => `"${at.toString(36)}":1`);
  const keep = repeated(1_000, () => `"${'x'.repeat(64)}"`);
  const parts = Array.from({ length: 90 }, (_, at) => ({ name: `p${at}`, value: 'x'.repeat(10_000) }));
  return [
    { body: `{${text('\\u00e9'.repeat(160_000))}}` },
    { body: `{${names},${text('a b '.repeat(200_000))}}` },
    { body: `{${text('')},"keep":[${repeated(200_000, () => '1')}]}` },
    { body: `{${text('')},"keep":[${keep}],"also":[${repeated(1_000, () => '"a b"')}]}` },
    { type: 'application/x-www-form-urlencoded', body: `text=${'%C3%A9'.repeat(160_000)}` },
    multipart(parts),
  ].map((call) => ({ ...call, path: `/text/remove-stopwords?ak=${key}` }));
}

/** Sends these in turn, so many at once. */
async function sendAll(
  { url, at, calls, tally }: { url: string; at: number; calls: readonly Call[]; tally: Tally },
  goesOn: () => boolean,
): Promise<void> {
  const client = createClient(url, at);
  await inParallel({ at, times: Number.POSITIVE_INFINITY, goesOn }, async (index) =>
    tally.count((await client.call(calls[index % calls.length] as Call)).status),
  );
  client.close();
}

/** Within its rate of 50 a second, a tenant may not take the main thread from another. */
export const quietTenant: Scenario = {
  name: 'must hold: a quiet tenant beside eight',
  env: { HELPER_RATE: '50' },
  bounds: { goodP99Ms: 100 },
  async attack(world, { scale, tally }) {
    const costly = costlyBodies(world.key).slice(0, 9);
    const calls = [...allowed(world.key), ...costly.map(({ call }) => call)];
    const client = createClient(world.url, 1);
    const end = performance.now() + scale.seconds * 1000;
    const goesOn = () => world.alive() && performance.now() < end;
    const noisy = sendAll({ url: world.url, at: 8, calls, tally }, goesOn);
    const { text } = goodCalls(world, world.quietKey);
    await keepCalling({ client, calls: [text], pauseMs: 50, tally }, goesOn);
    await noisy;
    client.close();
  },
};

/** What a process's memory moves by on its own, in megabytes. */
const noiseMb = 40;

/** Each costly body by itself: it may not hold up the main thread, nor take memory out of proportion to its size. */
export const singleRequests = (mostMs = 50): Scenario => ({
  name: 'must hold: one request of up to 10 MB',
  async attack(world, { tally, scale }) {
    const client = createClient(world.url, 1);
    const health = await watchHealth(world, 4);
    for (const { name, call } of costlyBodies(world.key)) {
      for (let times = 0; times < scale.calls && world.alive(); times += 1) {
        const sizeMb = Buffer.byteLength(call.body ?? '') / 1024 ** 2;
        const before = factsOf(world.pid);
        resetPeak(world.pid);
        await health.lap();
        const { status } = await client.call(call);
        tally.count(status);
        await sleep(20);
        const { maxExcessMs } = await health.lap();
        if (!world.alive()) tally.fault(`${name}: the gateway ended`);
        if (maxExcessMs > mostMs)
          tally.fault(`${name}: the main thread was held up for ${maxExcessMs.toFixed(0)} ms`);
        const riseMb = (factsOf(world.pid)?.peakMb ?? 0) - (before?.rssMb ?? 0);
        if (before && riseMb > 4 * sizeMb + noiseMb) {
          tally.fault(`${name}: memory rose by ${riseMb.toFixed(0)} MB for ${sizeMb.toFixed(1)} MB`);
        }
        if (status >= 500) tally.fault(`${name}: answered ${status}`);
      }
    }
    await health.stop();
    client.close();
  },
});

/** All of them at once, again and again, with what two clients can send. */
export const costlyAtOnce: Scenario = {
  name: 'costly bodies at once',
  async attack(world, { tally, scale }) {
    const calls = costlyBodies(world.key).map(({ call }) => call);
    const end = performance.now() + scale.seconds * 1000;
    await sendAll({ url: world.url, at: 2, calls, tally }, () => world.alive() && performance.now() < end);
  },
};
