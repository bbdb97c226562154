import type { BodyAnswer } from '../../pool/body-answer.js';
import type { Cache, Outcome } from './cache.js';
import { createFlights } from './flights.js';

/** What came of a call: its answer, and whether the next call of the same input may have it. */
export interface Made<Answer> {
  answer: Answer;
  /** The answer where it may be used again. */
  common: BodyAnswer | undefined;
}

/** A call that wants a result. */
export interface Wanting<Answer> {
  /** Makes it, in the call's own turn. */
  work: () => Promise<Made<Answer>>;
  /** Comes when its client goes away. */
  gone: { readonly ended: boolean; readonly signal: AbortSignal };
  /** Told when it begins to wait for another's work; may come several times. */
  onWait: () => void;
}

/** How a result was come by. */
export type Found = Exclude<Outcome, 'revalidated'>;

/** Results by tenant and by the tag of what they are made of. No tenant ever gets another's, nor waits for it. */
export interface Results<Answer> {
  /** Undefined where none is kept. */
  find(tenant: string, tag: string): BodyAnswer | undefined;
  /**
   * Has a result made once for all calls that want it at the same time, and keeps it. What the work throws is told to each of them; but
   * where the one has gone in whose turn it was to be done, another goes on.
   */
  make(tenant: string, tag: string, call: Wanting<Answer>): Promise<{ made: Made<Answer>; found: Found }>;
  /** Notes how a result was come by. */
  count(found: Found): void;
}

/** Of work that ended for its own client. */
class GivenUp extends Error {}

/** Keeps results on a shelf of `cache`. Whoever gets one gets the very bytes that are kept: nobody may change or move them. */
export function createResults<Answer>(cache: Pick<Cache, 'shelf'>): Results<Answer> {
  const kept = cache.shelf<BodyAnswer>('result');
  const flights = createFlights<Made<Answer>>();

  async function makeOwn(
    tenant: string,
    tag: string,
    { work, gone }: Wanting<Answer>,
  ): Promise<Made<Answer>> {
    const made = await work().catch((cause) => {
      throw gone.ended ? new GivenUp('the client has gone', { cause }) : cause;
    });
    // Before it is under way no more: who comes next finds the one or the other.
    if (made.common) kept.set(tenant, tag, made.common, sizeOf(made.common));
    return made;
  }

  return {
    find: kept.get,
    async make(tenant, tag, call) {
      const key = `${tenant} ${tag}`;
      const own = () => makeOwn(tenant, tag, call);
      for (;;) {
        const waits = flights.has(key);
        if (waits) call.onWait();
        // Whose turn it is stays to the end of its work, as any call does, and has it on its account.
        const { signal } = waits ? call.gone : new AbortController();
        try {
          const { value, joined } = await flights.join(key, signal, own);
          if (!joined) return { made: value, found: 'miss' };
          if (value.common) return { made: value, found: 'shared' };
          return { made: await own(), found: 'miss' };
        } catch (error) {
          if (!(error instanceof GivenUp) || call.gone.ended) throw error;
        }
      }
    },
    count: kept.count,
  };
}

function sizeOf({ bytes, type, headers = {} }: BodyAnswer): number {
  const texts = Object.entries(headers).flat();
  return bytes.buffer.byteLength + texts.reduce((sum, text) => sum + text.length, type.length);
}
