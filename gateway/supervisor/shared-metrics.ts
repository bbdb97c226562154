import type { ChildProcess } from 'node:child_process';
import type { MetricFacts } from '../observability/metrics.js';
import { hasEnded, sendTo } from './messages.js';

/** Of a process that does not answer in this time the last known counts are used: it may be about to end. */
const collectMs = 1_000;

interface Gathering {
  waitsFor: Set<ChildProcess>;
  answered: Set<ChildProcess>;
  done(): void;
}

/** The metrics of all processes together, in the supervisor. `others` gives the processes that serve beside one. */
export function createSharedMetrics(others: (than: ChildProcess) => ChildProcess[]) {
  const gatherings = new Map<number, Gathering>();
  /** What each process has sent last. */
  const latest = new Map<ChildProcess, MetricFacts>();
  /** Counts of those that have ended: a sum that falls looks like a restart, and would be counted once more. */
  let past: MetricFacts = [];
  let lastId = 0;

  return {
    /** Sends a process the metrics of all; these are its own. */
    gather(from: ChildProcess, id: number, ownFacts: MetricFacts): void {
      if (hasEnded(from)) return;
      const own = ++lastId;
      const waitsFor = new Set(others(from));
      const answered = new Set([from]);
      latest.set(from, ownFacts);
      const timer = setTimeout(() => done(), collectMs);
      const done = () => {
        clearTimeout(timer);
        gatherings.delete(own);
        const facts = [...latest].map(([child, its]) => (answered.has(child) ? its : countsOf(its)));
        // Last, because the first in the list decides how each metric is aggregated.
        facts.push(past);
        sendTo(from, { kind: 'gathered', id, facts });
      };
      gatherings.set(own, { waitsFor, answered, done });
      if (waitsFor.size === 0) done();
      for (const other of waitsFor) sendTo(other, { kind: 'collect', id: own });
    },
    /** A process has sent its metrics. */
    collected(from: ChildProcess, id: number, facts: MetricFacts): void {
      // Read after its end, it is among the past counts already.
      if (hasEnded(from)) return;
      latest.set(from, facts);
      const gathering = gatherings.get(id);
      if (!gathering?.waitsFor.delete(from)) return;
      gathering.answered.add(from);
      if (gathering.waitsFor.size === 0) gathering.done();
    },
    ended(child: ChildProcess): void {
      past = addCounts(past, countsOf(latest.get(child) ?? []));
      latest.delete(child);
      for (const { waitsFor, done } of [...gatherings.values()]) {
        if (waitsFor.delete(child) && waitsFor.size === 0) done();
      }
    },
  };
}

type Series = MetricFacts[number]['values'];

/** Counters and histograms, which only grow. Gauges describe the present: nothing of them remains of a process that ended. */
function countsOf(facts: MetricFacts): MetricFacts {
  return facts.filter(({ type }) => type === 'counter' || type === 'histogram');
}

/** The sum of two processes' counts. */
function addCounts(some: MetricFacts, more: MetricFacts): MetricFacts {
  const sums = new Map<string, MetricFacts[number]>();
  for (const metric of [...some, ...more]) {
    const before = sums.get(metric.name)?.values ?? [];
    sums.set(metric.name, { ...metric, values: addSeries([...before, ...metric.values]) });
  }
  return [...sums.values()];
}

function addSeries(values: Series): Series {
  const sums = new Map<string, Series[number]>();
  for (const each of values) {
    const series = JSON.stringify([each.metricName, each.labels]);
    sums.set(series, { ...each, value: each.value + (sums.get(series)?.value ?? 0) });
  }
  return [...sums.values()];
}
