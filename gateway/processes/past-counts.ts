import type { MetricFacts } from '../metrics/metrics.js';

type Series = MetricFacts[number]['values'];

/** What only ever grows of a process's metrics: counters and histograms. Of what is now, such as a gauge, nothing is left of one that ended. */
export function countsOf(facts: MetricFacts): MetricFacts {
  return facts.filter(({ type }) => type === 'counter' || type === 'histogram');
}

/** Two processes' counts as one. Neither is changed. */
export function addCounts(some: MetricFacts, more: MetricFacts): MetricFacts {
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
