import { hash, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Answer, AnswerHeaders, BodyAnswer } from '../../pool/answer.js';
import { fontFilesOf } from '../../pool/image/text/fonts.js';
import type { FileBytes, WorkerReport } from '../../pool/task.js';
import { type Cache, type CacheStatus, createInFlight } from '../cache.js';
import { version as packageVersion } from '../plugins/paths.js';
import type { Helper, HelperConfig, Step } from '../plugins/registry.js';
import type { AdmittedCall } from './admit.js';
import type { SourceFound } from './fetch-source.js';
import type { RunOptions } from './run-helper.js';
import type { CallContext, Caller, LastStage } from './stage.js';

export interface ReuseParts {
  results: ReturnType<typeof createResults>;
  /** The image engine with its version. */
  engine: readonly string[];
  /** Seconds that others may cache the answer of a signed url. */
  ttlSeconds: number;
  configOf: (helper: Helper) => HelperConfig;
  now?: () => number;
}

/** A call with its files; `ctx` where it came by HTTP. */
export interface CompleteCall extends AdmittedCall, SourceFound {
  readonly ctx?: Pick<CallContext, 'get' | 'method'>;
  readonly input: Record<string, unknown>;
  readonly steps?: readonly Step[] | undefined;
  readonly caller: Caller;
}

/** Around the last stage of a helper that makes pictures of pictures: answers 304, a cached result or one in flight. */
export function reuse<Needs extends CompleteCall>(
  helper: Helper,
  { results, engine, ttlSeconds, configOf, now = Date.now }: ReuseParts,
  last: LastStage<Needs>,
): LastStage<Needs> {
  const { id, version, declaration } = helper;
  if (!mayReuse(declaration) || version === undefined) return last;
  const maker = tagOf([id, version, engine, openConfig(helper, configOf(helper))]);

  return async function reuse(call) {
    const { steps = [] } = call;
    const mayReuseSteps = steps.every(({ helper: { declaration: own, version: its } }) => own.cache && its);
    if (call.state.dryrun || !mayReuseSteps) return last(call);
    const files = Object.entries(call.files ?? {});
    const digests = await Promise.all(files.map(([, file]) => digestOfFile(file)));
    // Of what is no picture a handler sees more than the content.
    const byField = files.map(([field, { header, type, name }], index) => [
      field,
      header ? digests[index] : [digests[index], type, name],
    ]);
    const { format, quality } = call.input;
    // What else was sent is in the steps.
    const input = steps.length > 0 ? { format, quality } : withoutUrls(helper, call.input);
    const run = steps.map((step) => [
      step.helper.id,
      step.helper.version,
      openConfig(step.helper, configOf(step.helper)),
      withoutUrls(step.helper, step.input),
    ]);
    const tag = tagOf([maker, input, run, Object.fromEntries(byField)]);
    if (hasClient(call, etagOf(tag))) return answerWith(call, unchanged(call), tag, 'hit');
    const cached = results.find(call.caller.tenant.id, tag);
    return cached ? answerWith(call, cached, tag, 'hit') : make(call, tag);
  };

  async function make(call: Needs, tag: string): Promise<Answer> {
    const { state, ticket, caller } = call;
    const { made, found } = await results.make(caller.tenant.id, tag, {
      signal: state.signal,
      onWait: () => ticket().cancelReservation(),
      work: async () => madeResult(await last(call), state.fetched),
    });
    return made.common ? answerWith(call, made.common, tag, found) : made.answer;
  }

  /** Adds the headers; the helper may replace all but `x-cache`. */
  function answerWith(call: Needs, result: BodyAnswer, tag: string, found: ResultStatus): Answer {
    results.count(found);
    // What was not made for this call costs it nothing, its input's validation included.
    if (found !== 'miss') call.state.taskMs = 0;
    const headers: AnswerHeaders = {
      etag: etagOf(tag),
      'cache-control': cacheControl(call.caller, ttlSeconds, now()),
      ...result.headers,
      'x-cache': found,
    };
    // The helper may have set a tag of its own.
    const isKnown = call.state.unchanged || hasClient(call, result.headers?.etag);
    return { ...(isKnown ? unchanged(call) : result), headers };
  }
}

/** Of what a url leads to, the tag has the content. */
function withoutUrls({ declaration }: Helper, input: Record<string, unknown>): Record<string, unknown> {
  const isUrl = (name: string) => declaration.files.some(({ parameter }) => parameter === name);
  return Object.fromEntries(Object.entries(input).filter(([name]) => !isUrl(name)));
}

/** Whether a helper makes pictures of pictures and does not opt out. */
export function mayReuse({ files, cache }: Pick<Helper['declaration'], 'files' | 'cache'>): boolean {
  return cache && files.some(({ kind }) => kind === 'image');
}

/** 304 is for GET and HEAD alone (RFC 9110, 13.1.2). */
function hasClient({ ctx }: CompleteCall, etag: string | undefined): boolean {
  if (ctx === undefined || etag === undefined || ctx.method === 'POST') return false;
  return isNamed(ctx.get('if-none-match'), etag);
}

function unchanged({ state }: CompleteCall): BodyAnswer {
  state.unchanged = true;
  return { kind: 'bytes', bytes: new Uint8Array(0), type: 'application/octet-stream' };
}

/** A picture may be reused unless it depends on more than the tag covers, or has `no-store`. */
function madeResult(answer: Answer, fetched: true | undefined): MadeResult {
  if (fetched || answer.kind !== 'bytes' || !/^image\//i.test(answer.type))
    return { answer, common: undefined };
  const isPrivate = /\bno-store\b/i.test(answer.headers?.['cache-control'] ?? '');
  return { answer, common: isPrivate ? undefined : answer };
}

/** The configuration without secrets, which must show neither in a picture nor in a hash. */
function openConfig({ declaration }: Helper, config: HelperConfig): HelperConfig {
  const secret = new Set(declaration.config.filter((field) => field.secret).map(({ name }) => name));
  return Object.fromEntries(Object.entries(config).filter(([name]) => !secret.has(name)));
}

export interface MadeResult {
  answer: Answer;
  common: BodyAnswer | undefined;
}

export interface ResultRequest {
  work: () => Promise<MadeResult>;
  signal: AbortSignal;
  /** Called when the call begins to wait for another's work; maybe several times. */
  onWait: () => void;
}

type ResultStatus = Exclude<CacheStatus, 'revalidated'>;

/** The error of work whose own client went away. */
class Abandoned extends Error {}

/** Results by tenant and tag, never shared between tenants. Cached bytes must be neither changed nor transferred. */
export function createResults(cache: Pick<Cache, 'namespace'>) {
  const cached = cache.namespace<BodyAnswer>('result');
  const inFlight = createInFlight<MadeResult>();

  async function makeOwn(tenant: string, tag: string, { work, signal }: ResultRequest): Promise<MadeResult> {
    const made = await work().catch((cause) => {
      throw signal.aborted ? new Abandoned('the client has gone', { cause }) : cause;
    });
    // While it is still in flight: the next call finds one or the other.
    if (made.common) cached.set(tenant, tag, made.common, sizeOfAnswer(made.common));
    return made;
  }

  return {
    find: cached.get,
    /** Makes a result or its error once for all calls at the same time; when its client leaves, another call does. */
    async make(tenant: string, tag: string, call: ResultRequest) {
      const key = `${tenant} ${tag}`;
      const own = () => makeOwn(tenant, tag, call);
      for (;;) {
        const waits = inFlight.has(key);
        if (waits) call.onWait();
        // The working call stays to the end, as any call does, and pays for the work.
        const { signal } = waits ? call : new AbortController();
        try {
          const { value, joined } = await inFlight.join(key, signal, own);
          if (joined && value.common) return { made: value, found: 'shared' as const };
          return { made: joined ? await own() : value, found: 'miss' as const };
        } catch (error) {
          if (!(error instanceof Abandoned) || call.signal.aborted) throw error;
        }
      }
    },
    count: (found: ResultStatus) => cached.count(found),
  };
}

function sizeOfAnswer({ bytes, type, headers = {} }: BodyAnswer): number {
  const texts = Object.entries(headers).flat();
  return bytes.buffer.byteLength + texts.reduce((sum, text) => sum + text.length, type.length);
}

/** A tag covers all of the engine that pictures depend on: versions, and the content of the operator's fonts. */
export async function openReuse(
  { cache, inline }: { cache: Cache; inline: Pick<RunOptions, 'helpers'> },
  { engine, version = '' }: WorkerReport,
  { fonts, cacheTtlSeconds }: { fonts: readonly string[]; cacheTtlSeconds: number },
): Promise<ReuseParts> {
  const drawn = [];
  for (const file of await fontFilesOf(fonts)) drawn.push(await digestOf(await readFile(file)));
  return {
    results: createResults(cache),
    engine: [packageVersion, engine, version, ...drawn],
    ttlSeconds: cacheTtlSeconds,
    configOf: (helper) => inline.helpers.partsOf(helper).config,
  };
}

/** SHA-256 of a value as base64url, whatever the order of its fields. Accepts JSON values, and numbers that JSON cannot express. */
export function tagOf(value: unknown): string {
  return hash('sha256', canonical(value), 'base64url');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, each]) => each !== undefined);
    fields.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(',')}}`;
  }
  // JSON writes NaN and infinity as null, and both zeros alike.
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return JSON.stringify(value) ?? 'undefined';
}

/** Hashing more would block the main thread for more than a tenth of a millisecond. */
const mostHashedHere = 128 * 1024;

/** SHA-256 of bytes as base64url; of many on a libuv thread. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength <= mostHashedHere) return hash('sha256', bytes, 'base64url');
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Buffer.from(digest).toString('base64url');
}

/** Bytes that several calls share are hashed once. */
const ofShared = new WeakMap<Uint8Array, Promise<string>>();

export function digestOfFile({ bytes, shared }: FileBytes): Promise<string> {
  if (!shared) return digestOf(bytes);
  const made = ofShared.get(bytes) ?? digestOf(bytes);
  ofShared.set(bytes, made);
  return made;
}

const etagOf = (tag: string): string => `"${tag}"`;

const entityTags = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether `If-None-Match` names this tag, by weak comparison (RFC 9110, 13.1.2). `*` matches none. */
export function isNamed(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false;
  const strong = etag.replace(/^W\//, '');
  for (const [, named] of ifNoneMatch.matchAll(entityTags)) if (named === strong) return true;
  return false;
}

/** A signed url's answer may be cached while the url is valid, for `ttlSeconds` at most; one for a key not at all. */
function cacheControl({ signedUntil }: Caller, ttlSeconds: number, now: number): string {
  if (signedUntil === undefined) return 'private, no-store';
  const left = Math.floor(signedUntil - now / 1000);
  return `public, max-age=${Math.max(0, Math.min(ttlSeconds, left))}`;
}
