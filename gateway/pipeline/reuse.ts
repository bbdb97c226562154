import type { Answer, AnswerHeaders, BodyAnswer } from '../../pool/answer.js';
import type { WorkerReport } from '../../pool/task.js';
import { type Cache, type CacheStatus, createInFlight } from '../cache.js';
import { version as packageVersion } from '../plugins/paths.js';
import type { Helper, HelperConfig } from '../plugins/registry.js';
import type { AdmittedCall } from './admit.js';
import type { SourceFound } from './fetch-source.js';
import { cacheControl, digestOfFile, etagOf, identifyEngine, isNamed, tagOf } from './result-tag.js';
import type { RunOptions } from './run-helper.js';
import type { CallContext, Caller, LastStage } from './stage.js';

/** What all helpers' results have in common. */
export interface ReuseParts {
  results: Results<Answer>;
  /** What draws, with its version. */
  engine: readonly string[];
  /** Seconds that others may keep the answer of a signed url. */
  ttlSeconds: number;
  /** What a helper takes from the environment. */
  configOf: (helper: Helper) => HelperConfig;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
}

/** A call that is ready to be worked on; `ctx` where it came by HTTP, which has conditions and headers. */
export interface CompleteCall extends AdmittedCall, SourceFound {
  readonly ctx?: Pick<CallContext, 'get' | 'method'>;
  readonly input: Record<string, unknown>;
  readonly caller: Caller;
}

/**
 * The same last stage for a helper that makes pictures of pictures, whose result is known by what it is made of before it is made: a
 * client that has it is told so (304), one that was made before is sent again, and one that is just being made for the same tenant
 * is waited for. Any other answer, and every one of another helper, is `last`'s alone.
 */
export function reuse<Needs extends CompleteCall>(
  helper: Helper,
  { results, engine, ttlSeconds, configOf, now = Date.now }: ReuseParts,
  last: LastStage<Needs>,
): LastStage<Needs> {
  const { id, version, declaration } = helper;
  if (!mayReuse(declaration) || version === undefined) return last;
  const maker = tagOf([id, version, engine, openConfig(helper, configOf(helper))]);
  const urls = new Set(declaration.files.map(({ parameter }) => parameter));
  // A handler is told more of these than their content.
  const plainFiles = new Set(
    declaration.files.filter(({ kind }) => kind === 'bytes').map(({ field }) => field),
  );

  return async function reuse(call) {
    if (call.state.dryrun) return last(call);
    const files = Object.entries(call.files ?? {});
    const digests = await Promise.all(files.map(([, file]) => digestOfFile(file)));
    const byField = files.map(([field, { type, name }], index) => [
      field,
      plainFiles.has(field) ? [digests[index], type, name] : digests[index],
    ]);
    const input = Object.fromEntries(Object.entries(call.input).filter(([name]) => !urls.has(name)));
    return answer(call, tagOf([maker, input, Object.fromEntries(byField)]));
  };

  function answer(call: Needs, tag: string) {
    const { tenant } = call.caller;
    if (hasClient(call, etagOf(tag))) return told(call, unchanged(call), tag, 'hit');
    const kept = results.find(tenant.id, tag);
    return kept ? told(call, kept, tag, 'hit') : make(call, tag);
  }

  async function make(call: Needs, tag: string): Promise<Answer> {
    const { state, ticket, caller } = call;
    const { made, found } = await results.make(caller.tenant.id, tag, {
      signal: state.signal,
      onWait: ticket.cancelReservation,
      work: async () => madeOf(await last(call), state.fetched),
    });
    return made.common ? told(call, made.common, tag, found) : made.answer;
  }

  /** The answer with what is said of it; only the word of what was found is never the helper's. */
  function told(call: Needs, result: BodyAnswer, tag: string, found: ResultStatus): Answer {
    results.count(found);
    const headers: AnswerHeaders = {
      etag: etagOf(tag),
      'cache-control': cacheControl(call.caller, { ttlSeconds, now: now() }),
      ...result.headers,
      'x-cache': found,
    };
    // A tag of the helper's own is known only now.
    const isKnown = call.state.unchanged || hasClient(call, result.headers?.etag);
    return { ...(isKnown ? unchanged(call) : result), headers };
  }
}

/** Whether a helper's results may be used again: it makes pictures of pictures, and says nothing against it. */
export function mayReuse({ files, cache }: Pick<Helper['declaration'], 'files' | 'cache'>): boolean {
  return cache && files.some(({ kind }) => kind === 'image');
}

/** 304 is for GET and HEAD alone (RFC 9110, 13.1.2); a POST, whose answer no cache has, is answered whole. */
function hasClient({ ctx }: CompleteCall, etag: string | undefined): boolean {
  if (ctx === undefined || etag === undefined || ctx.method === 'POST') return false;
  return isNamed(ctx.get('if-none-match'), etag);
}

function unchanged({ state }: CompleteCall): BodyAnswer {
  state.unchanged = true;
  return { kind: 'bytes', bytes: new Uint8Array(0), type: 'application/octet-stream' };
}

/** A picture is the next call's as well, unless something else has gone into it than the tag knows, or its helper has it kept nowhere. */
function madeOf(answer: Answer, fetched: true | undefined): MadeResult<Answer> {
  const isCommon =
    answer.kind === 'bytes' &&
    /^image\//i.test(answer.type) &&
    !fetched &&
    !/\bno-store\b/i.test(answer.headers?.['cache-control'] ?? '');
  return { answer, common: isCommon ? answer : undefined };
}

/** The configuration that may show in a picture; what is secret has no business there, nor in what is made of a hash of it. */
function openConfig({ declaration }: Helper, config: HelperConfig): HelperConfig {
  const secret = new Set(declaration.config.filter((field) => field.secret).map(({ name }) => name));
  return Object.fromEntries(Object.entries(config).filter(([name]) => !secret.has(name)));
}

/** What came of a call: its answer, and whether the next call of the same input may have it. */
export interface MadeResult<Answer> {
  answer: Answer;
  /** The answer where it may be used again. */
  common: BodyAnswer | undefined;
}

/** A call that wants a result. */
export interface ResultRequest<Answer> {
  /** Makes it, in the call's own turn. */
  work: () => Promise<MadeResult<Answer>>;
  /** Aborted when its client goes away. */
  signal: AbortSignal;
  /** Told when it begins to wait for another's work; may come several times. */
  onWait: () => void;
}

/** How a result was come by. */
type ResultStatus = Exclude<CacheStatus, 'revalidated'>;

/** Results by tenant and by the tag of what they are made of. No tenant ever gets another's, nor waits for it. */
export interface Results<Answer> {
  /** Undefined where none is kept. */
  find(tenant: string, tag: string): BodyAnswer | undefined;
  /**
   * Has a result made once for all calls that want it at the same time, and keeps it. What the work throws is told to each of them; but
   * where the one has gone in whose turn it was to be done, another goes on.
   */
  make(
    tenant: string,
    tag: string,
    call: ResultRequest<Answer>,
  ): Promise<{ made: MadeResult<Answer>; found: ResultStatus }>;
  /** Notes how a result was come by. */
  count(found: ResultStatus): void;
}

/** Of work that ended for its own client. */
class Abandoned extends Error {}

/** Keeps results on a shelf of `cache`. Whoever gets one gets the very bytes that are kept: nobody may change or move them. */
export function createResults<Answer>(cache: Pick<Cache, 'namespace'>): Results<Answer> {
  const kept = cache.namespace<BodyAnswer>('result');
  const flights = createInFlight<MadeResult<Answer>>();

  async function makeOwn(
    tenant: string,
    tag: string,
    { work, signal }: ResultRequest<Answer>,
  ): Promise<MadeResult<Answer>> {
    const made = await work().catch((cause) => {
      throw signal.aborted ? new Abandoned('the client has gone', { cause }) : cause;
    });
    // Before it is under way no more: who comes next finds the one or the other.
    if (made.common) kept.set(tenant, tag, made.common, sizeOfAnswer(made.common));
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
        const { signal } = waits ? call : new AbortController();
        try {
          const { value, joined } = await flights.join(key, signal, own);
          if (!joined) return { made: value, found: 'miss' };
          if (value.common) return { made: value, found: 'shared' };
          return { made: await own(), found: 'miss' };
        } catch (error) {
          if (!(error instanceof Abandoned) || call.signal.aborted) throw error;
        }
      }
    },
    count: kept.count,
  };
}

function sizeOfAnswer({ bytes, type, headers = {} }: BodyAnswer): number {
  const texts = Object.entries(headers).flat();
  return bytes.buffer.byteLength + texts.reduce((sum, text) => sum + text.length, type.length);
}

/** Where results are kept, and what helpers are given. */
interface ReuseSources {
  cache: Cache;
  inline: Pick<RunOptions, 'helpers'>;
}

/** Makes what `reuse` needs, for gateways with this engine. */
export async function openReuse(
  { cache, inline }: ReuseSources,
  engine: WorkerReport,
  { fonts, cacheTtlSeconds }: { fonts: readonly string[]; cacheTtlSeconds: number },
): Promise<ReuseParts> {
  return {
    results: createResults(cache),
    engine: await identifyEngine(engine, { packageVersion, fonts }),
    ttlSeconds: cacheTtlSeconds,
    configOf: (helper) => inline.helpers.partsOf(helper).config,
  };
}
