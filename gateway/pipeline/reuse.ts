import type { Answer } from '../../pool/answer.js';
import type { AnswerHeaders } from '../../pool/answer-headers.js';
import type { BodyAnswer } from '../../pool/body-answer.js';
import { after } from '../after.js';
import { cacheControl, etagOf, isNamed } from '../cache/conditions.js';
import { digestsOf } from '../cache/digest.js';
import type { Found, Made, Results } from '../cache/results.js';
import { tagOf } from '../cache/tag.js';
import type { HelperConfig } from '../helpers/helper-config.js';
import type { Helper } from '../helpers/registry.js';
import type { SourceFound } from './fetch-source.js';
import type { AdmittedCall } from './run-task.js';
import type { LastStage } from './stage.js';
import type { CallContext, Caller } from './state.js';

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

  return function reuse(call) {
    if (call.state.dryrun) return last(call);
    const files = Object.entries(call.files ?? {});
    return after(digestsOf(files.map(([, file]) => file)), (digests) => {
      const byField = files.map(([field, { type, name }], index) => [
        field,
        plainFiles.has(field) ? [digests[index], type, name] : digests[index],
      ]);
      const input = Object.fromEntries(Object.entries(call.input).filter(([name]) => !urls.has(name)));
      return answer(call, tagOf([maker, input, Object.fromEntries(byField)]));
    });
  };

  function answer(call: Needs, tag: string) {
    const { tenant } = call.caller;
    if (hasClient(call, etagOf(tag))) return told(call, unchanged(call), tag, 'hit');
    const kept = results.find(tenant.id, tag);
    return kept ? told(call, kept, tag, 'hit') : make(call, tag);
  }

  async function make(call: Needs, tag: string): Promise<Answer> {
    const { state, turn, caller } = call;
    const { made, found } = await results.make(caller.tenant.id, tag, {
      gone: state.gone,
      onWait: turn.standBack,
      work: async () => madeOf(await last(call), state.fetched),
    });
    return made.common ? told(call, made.common, tag, found) : made.answer;
  }

  /** The answer with what is said of it; only the word of what was found is never the helper's. */
  function told(call: Needs, result: BodyAnswer, tag: string, found: Found): Answer {
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
function madeOf(answer: Answer, fetched: true | undefined): Made<Answer> {
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
