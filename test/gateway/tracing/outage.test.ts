import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExportResult } from '@opentelemetry/core';
import { expect } from 'chai';
import { pino } from 'pino';
import { tellingOfOutages } from '../../../gateway/tracing/otlp.js';
import { startGatewayProcess } from '../gateway-process.js';

describe('a collector that is away', () => {
  it('is told of once, and when it is back', () => {
    const results: ExportResult[] = [
      { code: 0 },
      { code: 1, error: new Error('refused') },
      { code: 1 },
      { code: 0 },
      { code: 0 },
    ];
    const log: string[] = [];
    const logger = pino({}, { write: (line) => void log.push(JSON.parse(line).msg) });
    const { export: send } = tellingOfOutages(
      { export: (_, done) => done(results.shift() as ExportResult), shutdown: async () => undefined },
      logger,
    );
    const codes: number[] = [];
    while (results.length > 0) send([], ({ code }) => codes.push(code));
    expect(codes).to.deep.equal([0, 1, 1, 0, 0]);
    expect(log).to.deep.equal([
      'collector does not take traces; they are dropped',
      'collector takes traces again',
    ]);
  });

  it('holds up neither a call nor, for more than seconds, the end', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    // Takes connections and never answers.
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const gateway = await startGatewayProcess({
      HELPER_DATA_DIR: folder,
      HELPER_OTLP_URL: url,
      OTEL_BSP_SCHEDULE_DELAY: '1',
    });
    const call = () => fetch(`${gateway.url}/text/diff-two-strings?a=1&b=2&ak=${gateway.first_key?.key}`);
    for (let calls = 0; calls < 20; calls++) expect((await call()).status).to.equal(200);
    const began = performance.now();
    expect(await gateway.stop('SIGINT')).to.equal(0);
    // Two, on a machine with nothing else to do; the test's own limit is far above.
    expect(performance.now() - began).to.be.below(30_000);
    silent.close();
    await rm(folder, { recursive: true });
  });
});
