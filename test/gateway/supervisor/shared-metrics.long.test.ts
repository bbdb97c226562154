import type { ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import type { MetricFacts } from '../../../gateway/observability/metrics.js';
import type { ToProcess } from '../../../gateway/supervisor/messages.js';
import { createSharedMetrics } from '../../../gateway/supervisor/shared-metrics.js';
import { sampleMetrics } from '../observability/sample.js';

/** A process as the supervisor sees it; it answers with these calls counted, unless it is too late. */
class Process {
  calls = 0;
  isLate = false;
  hasEnded = false;
  readonly received: MetricFacts[][] = [];
  readonly worker: ChildProcess;
  readonly #asked: number[] = [];
  readonly metrics: ReturnType<typeof createSharedMetrics>;

  constructor(metrics: Process['metrics']) {
    this.metrics = metrics;
    const hasEnded = () => this.hasEnded;
    this.worker = {
      pid: 1,
      signalCode: null,
      get connected() {
        return !hasEnded();
      },
      get exitCode() {
        return hasEnded() ? 0 : null;
      },
      send: (message: ToProcess) => this.#receive(message),
    } as unknown as ChildProcess;
  }

  #receive(message: ToProcess): void {
    if (message.kind === 'gathered') this.received.push(message.facts);
    if (message.kind !== 'collect') return;
    this.#asked.push(message.id);
    if (!this.isLate) this.answer();
  }

  facts(): MetricFacts {
    const calls = [{ value: this.calls, labels: { code: 'ok' } }];
    const threads = [{ value: 1, labels: {} }];
    return [
      { name: 'calls_total', type: 'counter', values: calls, ...{ help: 'h', aggregator: 'sum' } },
      { name: 'threads', type: 'gauge', values: threads, ...{ help: 'h', aggregator: 'sum' } },
    ];
  }

  answer(): void {
    for (const id of this.#asked.splice(0)) {
      this.metrics.collected(this.worker, id, this.facts());
    }
  }

  end(): void {
    this.hasEnded = true;
    this.metrics.ended(this.worker);
  }

  gather(): void {
    this.metrics.gather(this.worker, 1, this.facts());
  }

  /** The last metrics that it received: the calls of all, and the threads. */
  async latest(): Promise<Record<string, number>> {
    const { body } = await sampleMetrics().metrics.text(this.received.at(-1));
    const number = (name: string) => Number(new RegExp(`^${name}\\S* (\\S+)$`, 'm').exec(body)?.[1] ?? 0);
    return { calls: number('calls_total'), threads: number('threads') };
  }
}

describe('the metrics of all processes', () => {
  function two() {
    const all: Process[] = [];
    const metrics = createSharedMetrics((than) =>
      all.map(({ worker }) => worker).filter((worker) => worker !== than && worker.connected),
    );
    const add = () => {
      const made = new Process(metrics);
      all.push(made);
      return made;
    };
    return { one: add(), other: add(), add };
  }

  it('keep the counts of a process that has ended, and nothing else of it', async () => {
    const { one, other, add } = two();
    one.calls = 5;
    other.calls = 7;
    one.gather();
    expect(await one.latest()).to.deep.equal({ calls: 12, threads: 2 });
    other.end();
    one.gather();
    expect(await one.latest()).to.deep.equal({ calls: 12, threads: 1 });
    const next = add();
    next.calls = 1;
    next.end();
    // Its metrics were never collected.
    const last = add();
    last.calls = 2;
    one.gather();
    expect(await one.latest()).to.deep.equal({ calls: 14, threads: 2 });
    one.end();
    last.gather();
    expect(await last.latest()).to.deep.equal({ calls: 14, threads: 1 });
  });

  it('do not wait for a process that ends, and count it once, also where its answer is read after its end', async () => {
    const { one, other } = two();
    other.calls = 7;
    one.gather();
    other.isLate = true;
    one.gather();
    expect(one.received).to.have.length(1);
    other.end();
    expect(one.received).to.have.length(2);
    other.answer();
    one.gather();
    expect(await one.latest()).to.deep.equal({ calls: 7, threads: 1 });
  });

  it('keep the counts of a process that does not answer in time', async () => {
    const { one, other } = two();
    other.calls = 7;
    one.gather();
    other.isLate = true;
    const waited = new Promise<void>((resolve) => {
      const { push } = one.received;
      one.received.push = (...facts) => {
        resolve();
        return push.apply(one.received, facts);
      };
    });
    one.gather();
    await waited;
    expect(await one.latest()).to.deep.equal({ calls: 7, threads: 1 });
  });
});
