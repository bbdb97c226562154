import type { BodyAnswer } from '../../pool/body-answer.js';
import type { ByteCache } from './byte-cache.js';
import type { CacheCounts, Found } from './counts.js';
import { createFlights, type Passenger } from './same-work.js';
import { partOf } from './part.js';

/** What came of a call: its answer, and whether the next call of the same input may have it. */
export interface Made<Answer> {
  answer: Answer;
  /** The answer where it may be used again. */
  common: BodyAnswer | undefined;
}

/** Results by tenant and by the tag of what they are made of. No tenant ever gets another's, nor waits for it. */
export interface Results<Answer> {
  /** Undefined where none is kept. */
  find(tenant: string, tag: string): BodyAnswer | undefined;
  /** Has a result made once for all calls that want it at the same time, and keeps it. */
  make(
    tenant: string,
    tag: string,
    call: Omit<Passenger<Made<Answer>>, 'isCommon'>,
  ): Promise<{ made: Made<Answer>; found: Found }>;
  /** Notes what a call found. */
  count(found: Found): void;
}

/** Keeps results in a part of `cache`. Whoever gets one gets the very bytes that are kept: nobody may change or move them. */
export function createResults<Answer>(cache: ByteCache<object>, counts: CacheCounts): Results<Answer> {
  const kept = partOf<BodyAnswer>(cache, 'result');
  const flights = createFlights<Made<Answer>>();

  return {
    find: kept.get,
    async make(tenant, tag, { work, ...waits }) {
      const { value, shared } = await flights.share(`${tenant} ${tag}`, {
        ...waits,
        isCommon: ({ common }) => common !== undefined,
        async work() {
          const made = await work();
          // Before its flight ends: who comes next finds one or the other.
          if (made.common) kept.set(tenant, tag, made.common, sizeOf(made.common));
          return made;
        },
      });
      return { made: value, found: shared ? 'shared' : 'miss' };
    },
    count: (found) => counts.add('result', found),
  };
}

function sizeOf({ bytes, type, headers = {} }: BodyAnswer): number {
  const texts = Object.entries(headers).flat();
  return bytes.buffer.byteLength + texts.reduce((sum, text) => sum + text.length, type.length);
}
