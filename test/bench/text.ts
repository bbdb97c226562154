/**
 * Prints what a small text call costs the gateway, with key, limits, usage, metrics and log on, beside a bare Koa, beside
 * the packages that the gateway has to have, and beside a server of one's own with the same duties: CPU of each server's process a
 * call, in turns within one run.
 * `node dist/test/bench/text.js`; Linux only.
 */
import {
  atLeast,
  atMost,
  type Contender,
  cpuMsOf,
  type Goal,
  inTurns,
  printGoals,
  printTable,
  ratio,
} from './measure.js';
import { hammer, type Server, startGateway, startScript, turnMs } from './servers.js';

/** Calls: a few cost less than the hundredth of a second in which the kernel counts. */
const fewest = 2000;

const [a, b] = ['one\ntwo\nthree\n', 'one\n2\nthree\n'];
const text = 'The quick brown fox jumps over the lazy dog.';
const query = (input: Record<string, string>) => new URLSearchParams(input).toString();
const workloads = {
  'diff GET': (key: string) => get(`/text/diff-two-strings?${query({ a, b, ak: key })}`),
  'diff POST': (key: string) => post('/text/diff-two-strings', { a, b }, key),
  'stopwords GET': (key: string) => get(`/text/remove-stopwords?${query({ text, ak: key })}`),
  'stopwords POST': (key: string) => post('/text/remove-stopwords', { text }, key),
};

function get(target: string): Buffer {
  return Buffer.from(`GET ${target} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
}

function post(path: string, input: object, key: string): Buffer {
  const body = JSON.stringify(input);
  const fields = [
    'host: localhost',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${body}`);
}

const bare = await startScript('./text-server.js', ['bare']);
const packages = await startScript('./text-server.js', ['packages']);
const gateway = await startGateway({
  // Limits are counted, and never met.
  HELPER_RATE: '1000000',
  HELPER_MONTHLY_QUOTA: '1000000000',
  LOG_LEVEL: 'info',
});
const peer = await startScript('./text-server.js', ['peer', gateway.key]);
const rows: string[][] = [];
const goals: Goal[] = [];
for (const connections of [32, 1]) {
  for (const [name, requestOf] of Object.entries(workloads)) {
    await compare(`${name}, ${connections} at a time`, requestOf(gateway.key), connections);
  }
}
const servers = ['bare Koa', 'required packages', 'own server', 'gateway', '÷ own server'];
printTable(['µs of CPU a call (calls a second)', ...servers], rows);
printGoals(goals);
await Promise.all([bare.close(), packages.close(), peer.close(), gateway.close()]);

async function compare(what: string, request: Buffer, connections: number): Promise<void> {
  const asked = ({ url, pid }: Server): Contender => ({
    cpuMs: () => cpuMsOf(pid),
    work: (calls) => hammer(url, request, { connections, calls }),
  });
  const contenders = [asked(bare), asked(packages), asked(peer), asked(gateway)] as const;
  const [least, usual, own, ours] = await inTurns(contenders, { fewest, turnMs });
  const cells = [least, usual, own, ours].map(
    ({ cpuMs, perSecond }) => `${(cpuMs * 1000).toFixed(0)} (${perSecond.toFixed(0)}/s)`,
  );
  rows.push([what, ...cells, ratio(ours.cpuMs, own.cpuMs)]);
  goals.push(atMost(1, `CPU of an own server's call: ${what}`, ours.cpuMs / own.cpuMs, '×'));
  goals.push(atLeast(0.4, `calls for a bare Koa's CPU: ${what}`, least.cpuMs / ours.cpuMs, '×'));
}
