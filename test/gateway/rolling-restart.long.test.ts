import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { skipWithout } from '../needs.js';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js';
import { type Balancer, freePorts, haproxy, startHaproxy } from './haproxy.js';

describe('a rolling restart behind HAProxy', function () {
  this.timeout(120_000);
  const clientCount = 16;
  let dataDir: string;
  let port: number;
  let ports: number[];
  let balancer: Balancer | undefined;
  let key: string;
  const gateways: GatewayProcess[] = [];
  let isOver = false;
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount });

  const start = (each: number) =>
    startGatewayProcess({
      HELPER_DATA_DIR: dataDir,
      PORT: String(each),
      HELPER_RATE: '0',
      // Beside the 400 ms in which HAProxy should notice: a busy machine takes longer.
      HELPER_DRAIN_MS: '4000',
    });

  before(async function () {
    if (!haproxy) skipWithout(this, 'haproxy');
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    [port = 0, ...ports] = await freePorts(3);
    for (const each of ports) gateways.push(await start(each));
    key = gateways[0]?.first_key?.key ?? '';
    balancer = await startHaproxy({ folder: dataDir, port, gateways: ports });
  });
  after(async () => {
    isOver = true;
    agent.destroy();
    balancer?.process.kill('SIGKILL');
    await Promise.all(gateways.map((gateway) => gateway.stop('SIGKILL')));
    if (dataDir) await rm(dataDir, { recursive: true });
  });

  /** A GET or a POST, which no balancer may send twice; gives 200, or what came instead. */
  function call(at: number): Promise<number | string> {
    const path = `/text/remove-stopwords?ak=${key}`;
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port, agent };
      const sent =
        at % 2 === 0
          ? request({ ...options, path: `${path}&dryrun=1` })
          : request({ ...options, path, method: 'POST', headers: { 'content-type': 'application/json' } });
      sent.on('response', (answer) => {
        text(answer).then(
          (body) => resolve(answer.statusCode === 200 ? 200 : `${answer.statusCode} ${body}`),
          () => resolve('broken answer'),
        );
      });
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      sent.end(at % 2 === 0 ? undefined : '{"text":"the cat","dryrun":true}');
    });
  }

  it('loses no call', async () => {
    const outcomes = new Map<number | string, number>();
    let calls = 0;
    const client = async () => {
      while (!isOver) {
        calls += 1;
        const outcome = await call(calls);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        // A gateway that starts has to get its turn beside them.
        await sleep(clientCount);
      }
    };
    const clients = Promise.all(Array.from({ length: clientCount }, client));
    for (const [at, each] of ports.entries()) {
      expect(await gateways[at]?.stop()).to.equal(0);
      gateways[at] = await start(each);
      await balancer?.ready(at);
    }
    isOver = true;
    await clients;
    expect(Object.fromEntries(outcomes)).to.deep.equal({ 200: calls });
  });
});
