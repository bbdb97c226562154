import type { ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import type { MetricFacts } from '../../../gateway/observability/metrics.js';
import { createExchange } from '../../../gateway/supervisor/exchange.js';
import type { ToMember } from '../../../gateway/supervisor/messages.js';
import { sampleMetrics } from '../observability/sample.js';

/** A process as the primary sees it; it answers with these calls counted, unless it is too late. */
class Process {
  calls = 0;
  isLate = false;
  isGone = false;
  readonly told: MetricFacts[][] = [];
  readonly worker: ChildProcess;
  readonly #asked: number[] = [];
  readonly exchange: ReturnType<typeof createExchange>;

  constructor(exchange: ReturnType<typeof createExchange>) {
    this.exchange = exchange;
    const isGone = () => this.isGone;
    this.worker = {
      pid: 1,
      signalCode: null,
      get connected() {
        return !isGone();
      },
      get exitCode() {
        return isGone() ? 0 : null;
      },
      send: (message: ToMember) => this.#take(message),
    } as unknown as ChildProcess;
  }

  #take(message: ToMember): void {
    if (message.kind === 'gathered') this.told.push(message.facts);
    if (message.kind !== 'collect') return;
    this.#asked.push(message.id);
    if (!this.isLate) this.answer();
  }

  facts(): MetricFacts {
    const calls = [{ value: this.calls, labels: { code: 'ok' } }];
    return [
      { name: 'calls_total', type: 'counter', values: calls, ...{ help: 'h', aggregator: 'sum' } },
      {
        name: 'threads',
        type: 'gauge',
        values: [{ value: 1, labels: {} }],
        ...{ help: 'h', aggregator: 'sum' },
      },
    ];
  }

  answer(): void {
    for (const id of this.#asked.splice(0)) {
      this.exchange.take(this.worker, { kind: 'collected', id, facts: this.facts() });
    }
  }

  end(): void {
    this.isGone = true;
    this.exchange.ended(this.worker);
  }

  gather(): void {
    this.exchange.take(this.worker, { kind: 'gather', id: 1, facts: this.facts() });
  }

  /** What it was told last: the calls of all, and the threads. */
  async heard(): Promise<Record<string, number>> {
    const { body } = await sampleMetrics().metrics.text(this.told.at(-1));
    const number = (name: string) => Number(new RegExp(`^${name}\\S* (\\S+)$`, 'm').exec(body)?.[1] ?? 0);
    return { calls: number('calls_total'), threads: number('threads') };
  }
}

describe('the metrics of all processes', () => {
  function two() {
    const all: Process[] = [];
    const exchange = createExchange((than) =>
      all.map(({ worker }) => worker).filter((worker) => worker !== than && worker.connected),
    );
    const add = () => {
      const made = new Process(exchange);
      all.push(made);
      return made;
    };
    return { one: add(), other: add(), add };
  }

  it('hold what one had counted that has ended, and nothing else of it', async () => {
    const { one, other, add } = two();
    one.calls = 5;
    other.calls = 7;
    one.gather();
    expect(await one.heard()).to.deep.equal({ calls: 12, threads: 2 });
    other.end();
    one.gather();
    expect(await one.heard()).to.deep.equal({ calls: 12, threads: 1 });
    const next = add();
    next.calls = 1;
    next.end();
    // It had told nobody of its call.
    const last = add();
    last.calls = 2;
    one.gather();
    expect(await one.heard()).to.deep.equal({ calls: 14, threads: 2 });
    one.end();
    last.gather();
    expect(await last.heard()).to.deep.equal({ calls: 14, threads: 1 });
  });

  it('wait for none that ends, and count it once, also where its answer is read after its end', async () => {
    const { one, other } = two();
    other.calls = 7;
    one.gather();
    other.isLate = true;
    one.gather();
    expect(one.told).to.have.length(1);
    other.end();
    expect(one.told).to.have.length(2);
    other.answer();
    one.gather();
    expect(await one.heard()).to.deep.equal({ calls: 7, threads: 1 });
  });

  it('hold what one has counted that does not answer in time', async () => {
    const { one, other } = two();
    other.calls = 7;
    one.gather();
    other.isLate = true;
    const waited = new Promise<void>((resolve) => {
      const { push } = one.told;
      one.told.push = (...facts) => {
        resolve();
        return push.apply(one.told, facts);
      };
    });
    one.gather();
    await waited;
    expect(await one.heard()).to.deep.equal({ calls: 7, threads: 1 });
  });
});
