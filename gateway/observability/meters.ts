import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Before each name, so that an operator finds the gateway's metrics among others'. */
const prefix = 'helper_gateway_';

/** From a task that starts at once to a call that waited for as long as any may. */
export const secondsOfACall = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Jobs are not waited for: what they take is told from a tenth of a second to a day. */
export const secondsOfAJob = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

/** What a metric is called and what it says. */
interface Named<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
}

/** Makes metrics in one registry. */
export interface Meters {
  /** What is counted elsewhere, cheaply, is put in by `collect` when the metrics are read. */
  counter<Label extends string>(
    of: Named<Label>,
    collect?: (counter: Counter<Label>) => void,
  ): Counter<Label>;
  histogram<Label extends string>(of: Named<Label>, buckets: number[]): Histogram<Label>;
  /**
   * A value as it is when the metrics are read; undefined where nobody knows it, and it is left out then. Of several processes of a host
   * the sum is told, unless it is to be another (`all`).
   */
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
        ...(collect
          ? {
              collect() {
                collect(this);
              },
            }
          : {}),
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

/**
 * Tenants by what they were given, which is their class: of tenants there may be any number, and of a metric's labels may not. Most
 * have the weight of 1 that a tenant begins with; those with more were told to be served better, and a few far better.
 */
type WeightClass = 'w1' | 'w2-9' | 'w10+';

/** The class of a tenant, by its weight (1 to 100). */
export function classOf(weight: number): WeightClass {
  if (weight >= 10) return 'w10+';
  return weight >= 2 ? 'w2-9' : 'w1';
}
