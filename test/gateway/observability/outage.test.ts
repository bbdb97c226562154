import { type AddressInfo, createServer } from 'node:net';
import type { ExportResult } from '@opentelemetry/core';
import { expect } from 'chai';
import { pino } from 'pino';
import { logOutages, openTracing } from '../../../gateway/observability/tracing.js';

describe('a collector that is away', () => {
  it('is logged once, and when it is back', () => {
    const error = new Error('refused');
    const results: ExportResult[] = [{ code: 0 }, { code: 1, error }, { code: 1 }, { code: 0 }, { code: 0 }];
    const log: string[] = [];
    const logger = pino({}, { write: (line) => void log.push(JSON.parse(line).msg) });
    const { export: send } = logOutages(
      { export: (_, done) => done(results.shift() as ExportResult), shutdown: async () => undefined },
      logger,
    );
    const codes: number[] = [];
    while (results.length > 0) send([], ({ code }) => codes.push(code));
    expect(codes).to.deep.equal([0, 1, 1, 0, 0]);
    expect(log).to.deep.equal([
      'collector does not accept traces; they are dropped',
      'collector accepts traces again',
    ]);
  });

  it('holds up neither a call nor, for more than seconds, the end', async function () {
    // Where it waits for the collector's answer, it waits for ever.
    this.timeout(30_000);
    // Accepts connections and never answers.
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const tracing = openTracing({ url, logger: pino({ enabled: false }) });
    for (let calls = 0; calls < 20; calls++) tracing.request({}, 'GET').end({});
    await tracing.close();
    silent.close();
  });
});
