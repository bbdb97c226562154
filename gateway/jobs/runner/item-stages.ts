import type { Answer } from '../../../pool/answer.js';
import type { FileBytes } from '../../../pool/task.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import type { BodyText } from '../../../schemas/input/validate-input.js';
import { GatewayError, inputError } from '../../errors.js';
import { bodyTooLarge } from '../../http/body.js';
import { TenantSums } from '../../http/budget.js';
import type { InboundBudget } from '../../http/inbound-budget.js';
import { type MultipartLimits, uploadTooLarge } from '../../http/multipart.js';
import type { TenantLimits } from '../../keys/model.js';
import type { KeyVerifier } from '../../keys/verifier.js';
import { createLimitsOf, type EffectiveLimits, type Limiter } from '../../limits/limiter.js';
import { callerOf } from '../../pipeline/authenticate.js';
import { limit } from '../../pipeline/limit.js';
import { createPipelines, type Identified, type PipelineParts } from '../../pipeline/pipelines.js';
import { type BodyInput, noUploads } from '../../pipeline/read-input.js';
import type { Caller, Stage } from '../../pipeline/stage.js';
import type { Helper } from '../../plugins/registry.js';
import type { ItemInput } from '../model.js';
import { inputName, type ResultStore } from '../results/result-store.js';
import type { StartedItem } from '../store/transitions.js';
import type { ItemCall } from './item-call.js';

/** What the items' stages are made of: the same as any call's. */
export interface ItemParts extends PipelineParts {
  keys: Pick<KeyVerifier, 'verifyById'>;
  limiter: Pick<Limiter, 'take'>;
  /** What a tenant may use for which nothing else is set. */
  limits: EffectiveLimits;
  results: Pick<ResultStore, 'get'>;
  bodyLimits: MultipartLimits;
  inboundBudget: Pick<InboundBudget, 'hold'>;
  /** The inbound budget. */
  inbound: { bytes: number };
}

/** The part of it for files of items, which were uploaded before. */
const itemsPart = 1 / 4;

/** Runs an item through the stages of its helper. */
export type ItemPipeline = (call: ItemCall) => Promise<Answer>;

/** The stages of the items of each helper: a call's, but for what HTTP brings. */
export function createItemPipelines(parts: ItemParts): (helper: Helper) => ItemPipeline {
  const callLimits = createLimitsOf(parts.limits);
  // The rate was observed when the job was made: what bounds how fast its items run is the pool.
  const limitsOf = (own: TenantLimits) => ({ ...callLimits(own), rate: 0 });
  const budget = createFileBudget(parts.inbound.bytes * itemsPart, parts.inboundBudget);
  const identify = requireKey(parts.keys);
  return createPipelines<ItemCall>(parts, {
    identify: () => identify,
    limit: (helper) => limitItem(helper, parts.limiter, limitsOf),
    // The runner leases no more items than could soon run.
    admit: { background: true, watch: (ticket, { watch }) => watch.over(ticket) },
    read: (helper) => readItem(helper, parts.results, { limits: parts.bodyLimits, budget }),
    input: watched,
  });
}

/** The same stage, which says when it waits for a download, or for a file from the store of jobs' files. */
function watched<Needs, Finds extends object>(stage: Stage<Needs, Finds>): Stage<Needs & ItemCall, Finds> {
  function watched(call: Needs & ItemCall, next: (found: Finds) => Promise<Answer>): Promise<Answer> {
    let waits: boolean | undefined;
    const answer = stage(call, (found) => {
      if (waits) call.watch.hasInput();
      waits ??= false;
      return next(found);
    });
    if (waits === undefined) {
      waits = true;
      call.watch.waitsForInput();
    }
    return answer;
  }
  // Its span is named by it.
  return Object.defineProperty(watched, 'name', { value: stage.name });
}

/**
 * An item waits for quota that calls have reserved. Its own is charged when its end is written here, and so is its CPU, as it is metered.
 * The rate of its key was observed when the job was made, as the tenant's.
 */
function limitItem(
  helper: Helper,
  { take }: ItemParts['limiter'],
  limitsOf: (own: TenantLimits) => EffectiveLimits,
): Stage<ItemCall & { caller: Caller }, { limits: EffectiveLimits }> {
  const stage: ReturnType<typeof limitItem> = (call, next) => {
    const limiter: ItemParts['limiter'] = {
      async take(tenant) {
        const { key } = tenant;
        const verdict = await take(
          key ? { ...tenant, key: { ...key, limits: { ...key.limits, rate: null } } } : tenant,
        );
        if (!verdict.allowed && verdict.reserved) throw new GatewayError('busy');
        if (!verdict.allowed) return verdict;
        return {
          ...verdict,
          settle(status) {
            if (status >= 400) return verdict.settle(status);
            call.quota.settle = (charge) => verdict.settle(charge ? status : 500);
          },
          charge(ms) {
            call.quota.charge = () => verdict.charge(ms);
            return {};
          },
        };
      },
    };
    return limit(helper, limiter, limitsOf)(call, next);
  };
  // Its span is named by it.
  return Object.defineProperty(stage, 'name', { value: limit.name });
}

/** Looks again at the key that made the job: it may have ended since, and what it may call may have changed. */
function requireKey(keys: Pick<KeyVerifier, 'verifyById'>): Stage<ItemCall, Identified> {
  return async function requireKey({ state, item }, next) {
    const caller = callerOf(await keys.verifyById(item.of.key_id));
    state.caller = caller;
    return next({ caller, query: { values: new Map(), problems: [] } });
  };
}

/** Brings what an item was given, as a body would have: its text, and its files from where they lie. As much as a body may hold. */
function readItem(
  { declaration }: Pick<Helper, 'declaration'>,
  results: Pick<ResultStore, 'get'>,
  { limits, budget }: { limits: MultipartLimits; budget: FileBudget },
): Stage<ItemCall, BodyInput> {
  const fileFields = new Set(declaration.files.map(({ field }) => field));

  return async function readItem({ item, state }, next) {
    const { input } = item;
    const fileBytes = input.files.reduce((sum, { bytes }) => sum + bytes, 0);
    if (fileBytes > limits.maxFileBytes) throw uploadTooLarge(limits);
    if (state.bytesIn - fileBytes > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
    if (input.files.length === 0) return next({ text: textOf(input), uploads: noUploads });
    const lost = input.files.flatMap(({ field }): FieldProblem[] =>
      fileFields.has(field) ? [] : [{ field, problem: 'is not a field for a file' }],
    );
    if (lost.length > 0) throw inputError(lost);
    const leave = await budget.enter(item.of.tenant_id, fileBytes, state.signal);
    try {
      // Without a variable, which would hold the bytes as long as the call.
      return await readFiles(item, results).then((uploads) => next({ text: textOf(input), uploads }));
    } finally {
      leave();
    }
  };
}

type FileBudget = ReturnType<typeof createFileBudget>;

/** Bounds the files of items in hand: a tenant may have half, and always one. Items wait here, and calls do not. */
export function createFileBudget(most: number, inboundBudget: Pick<InboundBudget, 'hold'>) {
  const held = new TenantSums();
  const waiting = new Set<{ tenant: string; bytes: number; begin: () => void }>();

  function fits(tenant: string, bytes: number): boolean {
    const own = held.of(tenant);
    return own === 0 || (own + bytes <= most / 2 && held.total + bytes <= most);
  }

  function begin(tenant: string, bytes: number): () => void {
    held.add(tenant, bytes);
    const letGo = inboundBudget.hold(tenant, bytes);
    return () => {
      letGo();
      held.add(tenant, -bytes);
      // A small file does not overtake a large one of its tenant, which would wait for ever.
      const blocked = new Set<string>();
      for (const each of waiting) {
        if (!blocked.has(each.tenant) && fits(each.tenant, each.bytes)) each.begin();
        else blocked.add(each.tenant);
      }
    };
  }
  return {
    /** Resolves when so many bytes of a tenant fit, with what gives them back; rejects where `signal` comes before. */
    enter(tenant: string, bytes: number, signal: AbortSignal): Promise<() => void> {
      const isNext = ![...waiting].some((each) => each.tenant === tenant);
      if (isNext && fits(tenant, bytes)) return Promise.resolve(begin(tenant, bytes));
      return new Promise((resolve, reject) => {
        const entry = {
          tenant,
          bytes,
          begin() {
            waiting.delete(entry);
            signal.removeEventListener('abort', abort);
            resolve(begin(tenant, bytes));
          },
        };
        function abort(): void {
          waiting.delete(entry);
          reject(new GatewayError('shutting_down'));
        }
        if (signal.aborted) return abort();
        waiting.add(entry);
        signal.addEventListener('abort', abort);
      });
    },
  };
}

function textOf({ json, fields }: ItemInput): BodyText | undefined {
  if (json !== undefined) return { kind: 'json', bytes: Buffer.from(json) };
  if (!fields) return undefined;
  const bytes = new Map(fields.map(([name, value]) => [name, Buffer.from(value)]));
  return { kind: 'fields', fields: bytes, problems: [] };
}

async function readFiles(item: StartedItem, results: Pick<ResultStore, 'get'>) {
  const uploads = new Map<string, FileBytes>();
  for (const file of item.input.files) {
    const stored = inputName(item, file);
    const bytes = await results.get(stored);
    if (!bytes) {
      const ask = 'do all processes have the same HELPER_RESULTS_URL or HELPER_DATA_DIR?';
      throw new Error(`${stored} is not where files of jobs are kept: ${ask}`);
    }
    const { field, type, name } = file;
    // It is moved to a thread, with all memory behind it.
    const isAlone = bytes.byteLength === bytes.buffer.byteLength;
    const own = isAlone ? bytes : new Uint8Array(bytes);
    uploads.set(field, { bytes: own, type, ...(name === undefined ? {} : { name }) });
  }
  return uploads;
}
