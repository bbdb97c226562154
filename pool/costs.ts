import { serviceOf, type Task } from './task.js';

/** Milliseconds below which no task is heavy: among short ones the ratio says little. */
const shortMs = 100;
/** Callers choose which helpers run one after another: what was not called for longest is forgotten. */
const mostFamilies = 1_000;
/** Each has some 300 bytes. */
const mostHistograms = 4_000;
/** Slots that one task counts for at most. */
const maxSlots = 16;

/** What a call is like, as far as its cost depends on it. */
export interface CallKind {
  /** The helper, or the set of those that run one after another. */
  service: string;
  /** What it asks for, one of a few. */
  variant?: string | undefined;
  /** Pixels or characters of what it works on; absent where that is not known. */
  size?: number | undefined;
}

/** Milliseconds that half of such calls stay below, and 95 of 100. */
interface Price {
  p50: number;
  p95: number;
}

/** What a dry run says of the call; null where none of its kind has ended in this process. */
export interface CallPrice {
  cpu_ms: Price | null;
}

interface Family {
  /** Running means of milliseconds in the pool, by variant. */
  means: Map<string, number>;
  /** What calls took, by variant, then by class of size. */
  histograms: Map<string, Map<number, Histogram>>;
}

/**
 * What a task is likely to cost, by what tasks of its kind have cost: those of one helper that ask for the same `variant`. Nothing here
 * knows what a variant means: one that takes long is found out by the first that ends.
 */
export class Costs {
  /** By helper and what is run of it, or by the kind of a task that is no call. */
  readonly #families = new Map<string, Family>();
  #histograms = 0;
  #typical = 50;

  /** Running mean of all tasks, in milliseconds. */
  get typical(): number {
    return this.#typical;
  }

  /** Milliseconds that a task is likely to take; as any, where none of its kind has ended. */
  estimate(task: Task): number {
    return this.#families.get(familyOf(task))?.means.get(variantOf(task)) ?? this.#typical;
  }

  /**
   * Slots that it counts for: how often the lightest kind of its helper goes into it. So a helper whose calls are all alike has as
   * many slots as there are, however long they take.
   */
  slots(task: Task): number {
    const means = this.#families.get(familyOf(task))?.means;
    const mean = means?.get(variantOf(task));
    if (!means || mean === undefined || mean <= shortMs) return 1;
    return Math.min(maxSlots, Math.max(1, Math.round(mean / Math.max(shortMs, Math.min(...means.values())))));
  }

  /**
   * To be called with each task that ended: how long it held its thread, and how long it says it took. One that failed before its usual
   * time says nothing of what they cost.
   */
  learn(task: Task, ms: number, ok: boolean, ownMs = ms): void {
    this.#typical = this.#typical * 0.9 + ms * 0.1;
    const variant = variantOf(task);
    const mean = this.#families.get(familyOf(task))?.means.get(variant);
    if (!ok && (mean === undefined || ms < mean)) return;
    const { means } = this.#familyOf(familyOf(task));
    means.set(variant, mean === undefined ? ms : mean * 0.8 + ms * 0.2);
    if (task.kind !== 'call' || task.does !== 'handler') return;
    this.note({ service: serviceOf(task), variant, size: task.size }, ownMs);
  }

  /** The same for a call that ran on the main thread, whose time says nothing of those in the pool. */
  note({ service, variant = '', size = 0 }: CallKind, ms: number): void {
    const { histograms } = this.#familyOf(service);
    const sizes = histograms.get(variant) ?? new Map<number, Histogram>();
    histograms.set(variant, sizes);
    const sizeClass = classOf(size);
    let histogram = sizes.get(sizeClass);
    if (!histogram) {
      histogram = new Histogram();
      sizes.set(sizeClass, histogram);
      this.#histograms += 1;
    }
    histogram.add(ms);
    while (this.#families.size > mostFamilies || this.#histograms > mostHistograms) this.#forgetOldest();
  }

  /** What a call of this kind is likely to cost; of any size where that is not known. Undefined where none has ended. */
  price({ service, variant = '', size }: CallKind): Price | undefined {
    const sizes = this.#families.get(service)?.histograms.get(variant);
    if (!sizes) return undefined;
    if (size === undefined) return priceOf([...sizes.values()].map((histogram) => [histogram, 0]));
    let price: Price = { p50: 0, p95: 0 };
    // A larger picture is never said to cost less than a smaller one, which chance may have made look dear.
    for (let each = 0; each <= classOf(size); each += 1) {
      const { p50, p95 } = priceOf(nearestTo(each, sizes));
      price = { p50: Math.max(price.p50, p50), p95: Math.max(price.p95, p95) };
    }
    return price;
  }

  /** Finds it, or makes it, as the one that was used last. */
  #familyOf(name: string): Family {
    const family = this.#families.get(name) ?? { means: new Map(), histograms: new Map() };
    this.#families.delete(name);
    this.#families.set(name, family);
    return family;
  }

  #forgetOldest(): void {
    const [[name, { histograms }] = ['', { histograms: new Map() }]] = this.#families;
    for (const sizes of histograms.values()) this.#histograms -= sizes.size;
    this.#families.delete(name);
  }
}

function familyOf(task: Task): string {
  if (task.kind !== 'call') return task.kind;
  // A dry run of its own is another function.
  return task.does === 'handler' ? serviceOf(task) : `${serviceOf(task)} ${task.does}`;
}

function variantOf(task: Task): string {
  return (task.kind === 'call' && task.variant) || '';
}

/** Sizes of one class differ by less than two times. */
const classOf = (size: number): number => 32 - Math.clz32(Math.min(size, 0x7fffffff));

/** Buckets of a histogram for each doubling, and the doublings from a microsecond: to two minutes. */
const perDoubling = 8;
const buckets = 27 * perDoubling;
/** From here on, counts are halved: what is recent counts for more. */
const mostCounted = 1_000;
/** With fewer, sizes beside it are asked as well. */
const enough = 10;

/** How many calls took how long, in buckets that are 9 % wide. */
class Histogram {
  readonly counts = new Uint16Array(buckets);
  total = 0;

  add(ms: number): void {
    const at = Math.floor(Math.log2(Math.max(ms, 0.001) * 1000) * perDoubling);
    const bucket = Math.min(buckets - 1, at);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.total += 1;
    if (this.total < mostCounted) return;
    this.total = 0;
    for (const [index, count] of this.counts.entries()) {
      this.counts[index] = count >> 1;
      this.total += count >> 1;
    }
  }
}

/** As another size's would be: so many buckets higher. */
type Shifted = readonly [histogram: Histogram, shift: number];

/** Those of a class, and of the nearest to it while these are few. */
function nearestTo(sizeClass: number, sizes: ReadonlyMap<number, Histogram>): Shifted[] {
  const nearest = [...sizes].sort(([a], [b]) => Math.abs(a - sizeClass) - Math.abs(b - sizeClass) || b - a);
  const chosen: Shifted[] = [];
  let total = 0;
  for (const [each, histogram] of nearest) {
    if (total >= enough) break;
    const apart = (sizeClass - each) * perDoubling;
    // Work grows with the size; what is small has a fixed part, so that it costs more than in proportion.
    chosen.push([histogram, apart > 0 ? apart : apart / 2]);
    total += histogram.total;
  }
  return chosen;
}

function priceOf(shifted: readonly Shifted[]): Price {
  const counts = new Map<number, number>();
  let total = 0;
  for (const [histogram, shift] of shifted) {
    total += histogram.total;
    for (const [index, count] of histogram.counts.entries()) {
      if (count > 0) counts.set(index + shift, (counts.get(index + shift) ?? 0) + count);
    }
  }
  const ordered = [...counts].sort(([a], [b]) => a - b);
  function edgeOf(part: number): number {
    let below = 0;
    const reached = ordered.find(([, count]) => {
      below += count;
      return below >= part * total;
    });
    return (reached?.[0] ?? 0) + 1;
  }
  // A few calls do not show how dear the dearest are.
  const margin = total < enough ? perDoubling : 0;
  return { p50: msAt(edgeOf(0.5) - 0.5), p95: msAt(edgeOf(0.95) + margin) };
}

/** Milliseconds at a bucket's edge, to the microsecond. */
const msAt = (bucket: number): number => Math.round(2 ** (bucket / perDoubling)) / 1000;
