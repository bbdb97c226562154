import type { Asker } from './asker.js';
import { Heap } from './heap.js';
import type { Line } from './line.js';

/** What is counted of one tenant that has, expects or waits for a place. */
export interface Lane<W extends Holding> {
  readonly tenant: string;
  weight: number;
  /** Tasks that have a place. */
  held: number;
  /** Places that they hold beyond one each, being heavy. */
  extra: number;
  /** Of input on its way nobody knows what it will be: it counts for one place each. */
  expected: number;
  readonly waiting: Line<W>;
  /** Whether it is among those of which calls are held back. */
  filed: boolean;
}

/** A call that waits to be let in or refused. */
export interface Holding {
  readonly asker: Asker;
  /** The how-manieth call that was held back it is. */
  readonly order: number;
}

/**
 * Calls that are held back, and those of them that may be decided next: calls of a tenant are alike, so only its oldest
 * one is ever asked about, and of all tenants only those that come first by what they are judged by.
 */
export class HeldBack<W extends Holding> {
  /** Tenants that may have another place, as far as their own limit goes. */
  readonly #oldest = new Heap<Lane<W>>(isOlder);
  readonly #leastLoaded = new Heap<Lane<W>>(
    (a, b) => placesOf(a) * head(b).asker.weight < placesOf(b) * head(a).asker.weight,
  );
  /** Tenants that hold all the places that they may. */
  readonly #sated = new Heap<Lane<W>>(isOlder);
  /** All. */
  readonly #mostHeld = new Heap<Lane<W>>(
    (a, b) => heldPlaces(a) * head(b).asker.weight > heldPlaces(b) * head(a).asker.weight,
  );

  add(lane: Lane<W>, holding: W): void {
    lane.waiting.add(holding);
    this.changed(lane);
  }

  delete(lane: Lane<W>, holding: W): void {
    lane.waiting.delete(holding);
    this.changed(lane);
  }

  /** To be called whenever a tenant's numbers have changed. */
  changed(lane: Lane<W>): void {
    const holding = lane.waiting.first();
    if (!holding && !lane.filed) return;
    lane.filed = holding !== undefined;
    const most = holding?.asker.most ?? Number.POSITIVE_INFINITY;
    const open = lane.filed && loadOf(lane) < most;
    file(lane, this.#oldest, open);
    file(lane, this.#leastLoaded, open);
    file(lane, this.#sated, lane.filed && lane.held >= most);
    file(lane, this.#mostHeld, lane.filed);
  }

  /**
   * Calls of which one can be decided, if any can: of a tenant that holds all that it may, the oldest while there is room, of
   * the least loaded tenant while there is none, and of the tenant that would be refused before any other.
   */
  candidates(full: boolean): (W | undefined)[] {
    const letIn = full ? this.#leastLoaded : this.#oldest;
    return [this.#sated, letIn, this.#mostHeld].map((heap) => heap.first()?.waiting.first());
  }
}

type Counts = Pick<Lane<Holding>, 'held' | 'extra' | 'expected'>;

/** Tasks that a tenant has and expects. */
export function loadOf({ held, expected }: Counts): number {
  return held + expected;
}

/** Places that a tenant holds. */
export function heldPlaces({ held, extra }: Counts): number {
  return held + extra;
}

/** Places that a tenant holds and expects. */
export function placesOf(counts: Counts): number {
  return heldPlaces(counts) + counts.expected;
}

function head<W extends Holding>({ waiting }: Lane<W>): W {
  return waiting.first() as W;
}

function isOlder(a: Lane<Holding>, b: Lane<Holding>): boolean {
  return head(a).order < head(b).order;
}

function file<W extends Holding>(lane: Lane<W>, heap: Heap<Lane<W>>, belongs: boolean): void {
  if (belongs) heap.place(lane);
  else heap.delete(lane);
}
