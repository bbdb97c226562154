import { performance } from 'node:perf_hooks';
import type { Task } from './task.js';

/** Tasks of one helper, or of one kind that is no call. */
interface Family {
  /** Running mean of milliseconds by what the calls ask for. */
  means: Map<string, number>;
  /** The least of these. */
  lightest: number;
}

/** Milliseconds below which no task is heavy: among short ones the ratio says little. */
const shortMs = 100;
/** Slots that one task counts for at most. */
const maxSlots = 16;

/**
 * What a task is likely to cost, by what tasks of its kind have cost: those of one helper that ask for the same `variant`. Nothing here
 * knows what a variant means: one that takes long is found out by the first that ends.
 */
export class Costs {
  readonly #families = new Map<string, Family>();
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
    const family = this.#families.get(familyOf(task));
    const mean = family?.means.get(variantOf(task));
    if (!family || mean === undefined || mean <= shortMs) return 1;
    return Math.min(maxSlots, Math.max(1, Math.round(mean / Math.max(shortMs, family.lightest))));
  }

  /** To be called with each task that ended. One that failed before its usual time says nothing of what they cost. */
  learn(task: Task, ms: number, ok: boolean): void {
    this.#typical = this.#typical * 0.9 + ms * 0.1;
    const name = familyOf(task);
    const variant = variantOf(task);
    const family = this.#families.get(name);
    const mean = family?.means.get(variant);
    if (!ok && (mean === undefined || ms < mean)) return;
    const next = mean === undefined ? ms : mean * 0.8 + ms * 0.2;
    if (!family) {
      this.#families.set(name, { means: new Map([[variant, next]]), lightest: next });
      return;
    }
    family.means.set(variant, next);
    family.lightest = Math.min(...family.means.values());
  }
}

/** How a task has ended: `late` past its deadline, `failed` before that, with its thread or unsent. */
export type TaskEnd = 'in time' | 'late' | 'failed';

/** A helper that is late again within this time is slowed. */
const lateAgainMs = 60_000;

/**
 * Helpers whose calls run into their deadline again and again: of each of them one task runs at a time, so that the other threads serve
 * its neighbours, until it has answered in time again.
 */
export class SlowedHelpers {
  readonly #onChange: (service: string, isSlowed: boolean) => void;
  /** When each was late last. */
  readonly #lateAt = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #slowed = new Set<string>();

  constructor(onChange: (service: string, isSlowed: boolean) => void = () => undefined) {
    this.#onChange = onChange;
  }

  services(): readonly string[] {
    return [...this.#slowed];
  }

  has(task: Task): boolean {
    return task.kind === 'call' && this.#slowed.has(task.context.service);
  }

  mayStart(task: Task): boolean {
    return task.kind !== 'call' || !this.has(task) || !this.#running.has(task.context.service);
  }

  began(task: Task): void {
    if (task.kind !== 'call') return;
    const { service } = task.context;
    this.#running.set(service, (this.#running.get(service) ?? 0) + 1);
  }

  ended(task: Task, end: TaskEnd): void {
    if (task.kind !== 'call') return;
    const { service } = task.context;
    const running = (this.#running.get(service) ?? 1) - 1;
    if (running > 0) this.#running.set(service, running);
    else this.#running.delete(service);
    if (end === 'late') this.#late(service);
    else if (end === 'in time' && this.#slowed.delete(service)) this.#onChange(service, false);
  }

  #late(service: string): void {
    const now = performance.now();
    const isAgain = now - (this.#lateAt.get(service) ?? Number.NEGATIVE_INFINITY) <= lateAgainMs;
    this.#lateAt.set(service, now);
    if (!isAgain || this.#slowed.has(service)) return;
    this.#slowed.add(service);
    this.#onChange(service, true);
  }
}

function familyOf(task: Task): string {
  if (task.kind !== 'call') return task.kind;
  // A dry run of its own is another function.
  return task.does === 'handler' ? task.context.service : `${task.context.service} ${task.does}`;
}

function variantOf(task: Task): string {
  return (task.kind === 'call' && task.variant) || '';
}
