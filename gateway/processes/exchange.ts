import type { Worker } from 'node:cluster';
import { once } from '../../pool/once.js';
import type { ToMember, ToPrimary } from './messages.js';

/** What processes tell each other, through the primary. */
export interface Exchange {
  /** Takes what a process sent, other than that it is ready. */
  take(from: Worker, message: ToPrimary): void;
}

/** One that does not answer in this time is left out: it may be about to end. */
const collectMs = 1_000;

interface Gathering {
  waitsFor: Set<Worker>;
  facts: unknown[];
  done(): void;
}

/** `others` gives those that serve beside one. */
export function createExchange(others: (than: Worker) => Worker[]): Exchange {
  // Most hosts have one process, which asks nobody.
  const counts = once(async () => (await import('./counts.js')).createCounts());
  const gatherings = new Map<number, Gathering>();
  let lastId = 0;

  async function tell(from: Worker, { id, asks }: Extract<ToPrimary, { kind: 'ask' }>): Promise<void> {
    tellMember(from, { kind: 'told', id, told: await (await counts()).tell(asks) });
  }

  function gather(from: Worker, id: number): void {
    const own = ++lastId;
    const waitsFor = new Set(others(from));
    const facts: unknown[] = [];
    const timer = setTimeout(() => done(), collectMs);
    const done = () => {
      clearTimeout(timer);
      gatherings.delete(own);
      tellMember(from, { kind: 'gathered', id, facts });
    };
    gatherings.set(own, { waitsFor, facts, done });
    for (const other of waitsFor) tellMember(other, { kind: 'collect', id: own });
    if (waitsFor.size === 0) done();
  }

  function collected(from: Worker, id: number, facts: unknown): void {
    const gathering = gatherings.get(id);
    if (!gathering?.waitsFor.delete(from)) return;
    gathering.facts.push(facts);
    if (gathering.waitsFor.size === 0) gathering.done();
  }

  return {
    take(from, message) {
      // Who gets no answer goes on by itself.
      if (message.kind === 'ask') void tell(from, message).catch(() => undefined);
      if (message.kind === 'changed')
        for (const other of others(from)) tellMember(other, { kind: 'changed' });
      if (message.kind === 'gather') gather(from, message.id);
      if (message.kind === 'collected') collected(from, message.id, message.facts);
    },
  };
}

/** Nobody is told who has just gone. */
export function tellMember(worker: Worker, message: ToMember): void {
  if (worker.isConnected()) worker.send(message, undefined, () => undefined);
}
