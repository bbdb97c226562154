import type { Answer } from '../../../pool/answer.js';
import type { ImageLimits } from '../../../pool/image/engine.js';
import type { Pool } from '../../../pool/pool.js';
import { after, type Now } from '../../after.js';
import { GatewayError } from '../../errors.js';
import type { Helper } from '../../helpers/registry.js';
import type { MultipartLimits } from '../../http/body/multipart.js';
import type { Arrivals } from '../../http/flow/arrivals.js';
import type { TenantLimits } from '../../keys/model.js';
import type { KeyVerifier } from '../../keys/verifier.js';
import type { Limiter } from '../../limits/limiter.js';
import { createLimitsOf, type EffectiveLimits } from '../../limits/tenant-limits.js';
import { fetchSource } from '../../pipeline/fetch-source.js';
import { limit } from '../../pipeline/limit.js';
import { type ReuseParts, reuse } from '../../pipeline/reuse.js';
import { runHelper } from '../../pipeline/run-helper.js';
import type { RunOptions } from '../../pipeline/run-here.js';
import { from, type Stage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import { traceLast } from '../../pipeline/trace-stage.js';
import { validate } from '../../pipeline/validate.js';
import type { SourceFiles } from '../../source/source-files.js';
import type { Tracing } from '../../tracing/tracing.js';
import type { ResultStore } from '../results/result-store.js';
import type { ItemCall } from './item-call.js';
import { createFileRoom, readItem } from './read-item.js';
import { requireKey } from './require-key.js';
import { turnBehind } from './turn-behind.js';

/** What the items' stages are made of: the same as any call's. */
export interface ItemParts {
  keys: Pick<KeyVerifier, 'verifyById'>;
  limiter: Pick<Limiter, 'take'>;
  /** What a tenant may use for which nothing else is set. */
  limits: EffectiveLimits;
  pool: Pick<Pool, 'turn'>;
  results: Pick<ResultStore, 'get'>;
  files: SourceFiles;
  bodyLimits: MultipartLimits;
  arrivals: Pick<Arrivals, 'hold'>;
  /** The inbound budget. */
  inbound: { bytes: number };
  imageLimits: ImageLimits;
  inline: RunOptions;
  reuse: ReuseParts;
  /** Absent where items are not followed. */
  tracing?: Tracing | undefined;
}

/** The part of it that files of items may take, which were uploaded before. */
const itemsPart = 1 / 4;

/** Runs an item through the stages of its helper. */
export type ItemWay = (call: ItemCall) => Now<Answer>;

/** The stages of the items of each helper: a call's, but for what HTTP brings. Made once a version of the helper. */
export function createItemWays(parts: ItemParts): (helper: Helper) => ItemWay {
  const limitsOf = withoutRate(createLimitsOf(parts.limits));
  const room = createFileRoom(parts.inbound.bytes * itemsPart, parts.arrivals);
  const ways = new WeakMap<Helper, ItemWay>();

  function wayOf(helper: Helper): ItemWay {
    return from<ItemCall>(parts.tracing)
      .through(requireKey(parts.keys))
      .through(limitItem(helper, parts.limiter, limitsOf))
      .through(turnBehind(helper, parts.pool))
      .through(watched(readItem(helper, parts.results, { limits: parts.bodyLimits, room })))
      .through(validate(helper))
      .through(watched(fetchSource(helper, parts.files, parts.imageLimits)))
      .to(reuse(helper, parts.reuse, traceLast(parts.tracing, runHelper(helper, parts.inline))));
  }

  return (helper) => {
    const way = ways.get(helper) ?? wayOf(helper);
    ways.set(helper, way);
    return way;
  };
}

/** The same stage, which says when it waits for a download, or for a file from where files of jobs are kept. */
function watched<Needs, Finds extends object>(stage: Stage<Needs, Finds>): Stage<Needs & ItemCall, Finds> {
  function watched(call: Needs & ItemCall, next: (found: Finds) => Now<Answer>): Now<Answer> {
    let waits: boolean | undefined;
    const answer = stage(call, (found) => {
      if (waits) call.watch.hasInput();
      waits ??= false;
      return next(found);
    });
    if (waits === undefined && answer instanceof Promise) {
      waits = true;
      call.watch.waitsForInput();
    }
    return answer;
  }
  // Its span is named by it.
  return Object.defineProperty(watched, 'name', { value: stage.name });
}

/**
 * The limits of an item, which waits where calls have reserved the rest of the quota and may give it back. What it reserves itself is
 * charged when its end is written: another process may end it first, and be charged for it.
 */
function limitItem(
  helper: Helper,
  { take }: ItemParts['limiter'],
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<ItemCall & { caller: Caller }, { limits: EffectiveLimits }> {
  const limitItem: Stage<ItemCall & { caller: Caller }, { limits: EffectiveLimits }> = (call, next) => {
    const limiter: ItemParts['limiter'] = {
      take: (tenant) =>
        after(take(tenant), (verdict) => {
          if (!verdict.allowed && verdict.reserved) throw new GatewayError('busy');
          if (!verdict.allowed) return verdict;
          return {
            ...verdict,
            settle(status) {
              if (status >= 400) return verdict.settle(status);
              call.quota.settle = (charge) => verdict.settle(charge ? status : 500);
            },
          };
        }),
    };
    return limit(helper, limiter, limitsOf)(call, next);
  };
  // Its span is named by it.
  return Object.defineProperty(limitItem, 'name', { value: limit.name });
}

/** The rate was kept when the job was made: what bounds how fast its items run is the pool. */
function withoutRate(limitsOf: (own: TenantLimits) => EffectiveLimits) {
  return (own: TenantLimits): EffectiveLimits => ({ ...limitsOf(own), rate: 0 });
}
