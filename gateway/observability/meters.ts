import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const prefix = 'helper_gateway_';

/** From a task that starts at once to the longest wait of a call. */
export const secondsOfACall = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** From a tenth of a second to a day. */
export const secondsOfAJob = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

interface Named<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
}

/** Makes metrics in one registry. */
export interface Meters {
  /** `collect` fills it when the metrics are read, where counting elsewhere is cheaper. */
  counter<Label extends string>(
    of: Named<Label>,
    collect?: (counter: Counter<Label>) => void,
  ): Counter<Label>;
  histogram<Label extends string>(of: Named<Label>, buckets: number[]): Histogram<Label>;
  /** A value at the moment the metrics are read; left out while undefined. `all` aggregates several processes of a host. */
  gauge(
    name: string,
    help: string,
    value: () => number | undefined | Promise<number | undefined>,
    all?: 'sum' | 'max' | 'min',
  ): void;
}

/** Makes metrics in this registry, all with the gateway's prefix. */
export function createMeters(registry: Registry): Meters {
  const registers = [registry];
  return {
    counter: ({ name, help, labels = [] }, collect) =>
      new Counter({
        name: prefix + name,
        help,
        labelNames: [...labels],
        registers,
        collect() {
          collect?.(this);
        },
      }),
    histogram: ({ name, help, labels = [] }, buckets) =>
      new Histogram({ name: prefix + name, help, labelNames: [...labels], buckets, registers }),
    gauge(name, help, value, all = 'sum') {
      new Gauge({
        name: prefix + name,
        help,
        registers,
        aggregator: all,
        async collect() {
          const now = await value();
          if (now === undefined) this.remove();
          else this.set(now);
        },
      });
    },
  };
}

/** The class of a tenant by its weight (1 to 100): tenants have no bound, and a metric's labels must have one. Most weigh 1. */
export function classOf(weight: number): 'w1' | 'w2-9' | 'w10+' {
  if (weight >= 10) return 'w10+';
  return weight >= 2 ? 'w2-9' : 'w1';
}
