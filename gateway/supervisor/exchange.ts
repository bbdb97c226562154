import type { ChildProcess } from 'node:child_process';
import { once } from '../../pool/concurrency.js';
import type { MetricFacts } from '../observability/metrics.js';
import type { ToMember, ToPrimary } from './messages.js';

/** What processes tell each other, through the primary. */
interface Exchange {
  /** Takes what a process sent, other than that it is ready. */
  take(from: ChildProcess, message: ToPrimary): void;
  /** Says that one has ended. */
  ended(worker: ChildProcess): void;
}

/** Of one that does not answer in this time nothing new is told: it may be about to end. */
const collectMs = 1_000;

interface Gathering {
  waitsFor: Set<ChildProcess>;
  answered: Set<ChildProcess>;
  done(): void;
}

/** `others` gives those that serve beside one. */
export function createExchange(others: (than: ChildProcess) => ChildProcess[]): Exchange {
  // Most hosts have one process, which asks nobody.
  const counts = once(async () => (await import('./counts.js')).createCounts());
  const gatherings = new Map<number, Gathering>();
  /** The metrics that each process has told last; only what has been told can be missed. */
  const told = new Map<ChildProcess, MetricFacts>();
  /** What those had counted that have ended: a sum that becomes less looks as if all had begun anew, and is counted once more. */
  let past: MetricFacts = [];
  let lastId = 0;

  async function tell(from: ChildProcess, { id, asks }: Extract<ToPrimary, { kind: 'ask' }>): Promise<void> {
    tellMember(from, { kind: 'told', id, told: await (await counts()).tell(asks) });
  }

  function gather(from: ChildProcess, id: number, ownFacts: MetricFacts): void {
    if (hasEnded(from)) return;
    const own = ++lastId;
    const waitsFor = new Set(others(from));
    const answered = new Set([from]);
    told.set(from, ownFacts);
    const timer = setTimeout(() => done(), collectMs);
    const done = () => {
      clearTimeout(timer);
      gatherings.delete(own);
      const facts = [...told].map(([worker, its]) => (answered.has(worker) ? its : countsOf(its)));
      // At the end: the first says of each metric how they become one.
      facts.push(past);
      tellMember(from, { kind: 'gathered', id, facts });
    };
    gatherings.set(own, { waitsFor, answered, done });
    if (waitsFor.size === 0) done();
    for (const other of waitsFor) tellMember(other, { kind: 'collect', id: own });
  }

  function collected(from: ChildProcess, id: number, facts: MetricFacts): void {
    // What one has sent may be read after its end; it is counted among the past then.
    if (hasEnded(from)) return;
    told.set(from, facts);
    const gathering = gatherings.get(id);
    if (!gathering?.waitsFor.delete(from)) return;
    gathering.answered.add(from);
    if (gathering.waitsFor.size === 0) gathering.done();
  }

  return {
    take(from, message) {
      // Who gets no answer goes on by itself.
      if (message.kind === 'ask') void tell(from, message).catch(() => undefined);
      if (message.kind === 'changed')
        for (const other of others(from)) tellMember(other, { kind: 'changed' });
      if (message.kind === 'gather') gather(from, message.id, message.facts);
      if (message.kind === 'collected') collected(from, message.id, message.facts);
    },
    ended(worker) {
      past = addCounts(past, countsOf(told.get(worker) ?? []));
      told.delete(worker);
      for (const { waitsFor, done } of [...gatherings.values()]) {
        if (waitsFor.delete(worker) && waitsFor.size === 0) done();
      }
    },
  };
}

/** Nobody is told who has just gone. */
export function tellMember(worker: ChildProcess, message: ToMember): void {
  if (worker.connected) worker.send(message, () => undefined);
}

export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

type Series = MetricFacts[number]['values'];

/** What only ever grows of a process's metrics: counters and histograms. Of what is now, such as a gauge, nothing is left of one that ended. */
function countsOf(facts: MetricFacts): MetricFacts {
  return facts.filter(({ type }) => type === 'counter' || type === 'histogram');
}

/** Two processes' counts as one. Neither is changed. */
function addCounts(some: MetricFacts, more: MetricFacts): MetricFacts {
  const sums = new Map<string, MetricFacts[number]>();
  for (const { values, ...metric } of [...some, ...more]) {
    const sum = sums.get(metric.name) ?? { ...metric, values: [] };
    sums.set(metric.name, { ...sum, values: [...sum.values, ...values] });
  }
  return [...sums.values()].map((metric) => ({ ...metric, values: added(metric.values) }));
}

function added(values: Series): Series {
  const sums = new Map<string, Series[number]>();
  for (const each of values) {
    const series = JSON.stringify([each.metricName, each.labels]);
    sums.set(series, { ...each, value: each.value + (sums.get(series)?.value ?? 0) });
  }
  return [...sums.values()];
}
