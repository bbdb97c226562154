import type { Answer } from '../../../pool/answer.js';
import type { FileBytes } from '../../../pool/task.js';
import type { FieldProblem } from '../../../schemas/field-problem.js';
import type { BodyText } from '../../../schemas/input/judge-input.js';
import type { QueryText } from '../../../schemas/input/urlencoded.js';
import type { Now } from '../../after.js';
import { GatewayError, inputError } from '../../errors.js';
import type { Helper } from '../../helpers/registry.js';
import { type MultipartLimits, uploadTooLarge } from '../../http/body/multipart.js';
import { bodyTooLarge } from '../../http/body/text-body.js';
import type { Arrivals } from '../../http/flow/arrivals.js';
import { TenantSums } from '../../http/flow/tenant-sums.js';
import { type BodyInput, noUploads } from '../../pipeline/read-input.js';
import type { Stage } from '../../pipeline/stage.js';
import type { ItemInput } from '../model.js';
import { inputName, type ResultStore } from '../results/result-store.js';
import type { StartedItem } from '../store/job-store.js';
import type { ItemCall } from './item-call.js';

type ItemText = BodyInput & { query: QueryText };

/** Brings what an item was given, as a body would have: its text, and its files from where they lie. As much as a body may hold. */
export function readItem(
  { declaration }: Pick<Helper, 'declaration'>,
  results: Pick<ResultStore, 'get'>,
  { limits, room }: { limits: MultipartLimits; room: FileRoom },
): Stage<ItemCall, ItemText> {
  const fileFields = new Set(declaration.files.map(({ field }) => field));

  return function readItem({ item, state }, next) {
    const { input } = item;
    const fileBytes = input.files.reduce((sum, { bytes }) => sum + bytes, 0);
    if (fileBytes > limits.maxFileBytes) throw uploadTooLarge(limits);
    if (state.bytesIn - fileBytes > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
    const query: QueryText = { values: new Map(), problems: [] };
    if (input.files.length === 0) return next({ text: textOf(input, []), uploads: noUploads, query });
    const lost = input.files.flatMap(({ field }): FieldProblem[] =>
      fileFields.has(field) ? [] : [{ field, problem: 'is not a field for a file' }],
    );
    if (lost.length > 0) throw inputError(lost);
    return readHeld(item, fileBytes, {
      state,
      next: (uploads) => next({ text: textOf(input, []), uploads, query }),
    });
  };

  async function readHeld(
    item: StartedItem,
    bytes: number,
    { state, next }: Pick<ItemCall, 'state'> & { next: (uploads: Map<string, FileBytes>) => Now<Answer> },
  ): Promise<Answer> {
    const leave = await room.enter(item.of.tenant_id, bytes, state.gone.signal);
    try {
      return await readFiles(item, results).then(next);
    } finally {
      leave();
    }
  }
}

/** Room for the files of items in hand. */
export interface FileRoom {
  /** Resolves when there is room for so many bytes of a tenant, with what gives it back; rejects where `signal` comes before. */
  enter(tenant: string, bytes: number, signal: AbortSignal): Promise<() => void>;
}

/**
 * Bounds the files of items in hand, of which a tenant may have half, and always one item's. They count in the inbound budget, so it has
 * to leave room for calls: items wait here, and calls do not wait for items.
 */
export function createFileRoom(most: number, arrivals: Pick<Arrivals, 'hold'>): FileRoom {
  const held = new TenantSums();
  const waiting = new Set<{ tenant: string; bytes: number; begin: () => void }>();

  function fits(tenant: string, bytes: number): boolean {
    const own = held.of(tenant);
    return own === 0 || (own + bytes <= most / 2 && held.total + bytes <= most);
  }

  function begin(tenant: string, bytes: number): () => void {
    held.add(tenant, bytes);
    const letGo = arrivals.hold(tenant, bytes);
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
    enter(tenant, bytes, signal) {
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

function textOf({ json, fields }: ItemInput, problems: FieldProblem[]): BodyText | undefined {
  if (json !== undefined) return { kind: 'json', bytes: Buffer.from(json) };
  if (!fields) return undefined;
  return {
    kind: 'fields',
    fields: new Map(fields.map(([name, value]) => [name, Buffer.from(value)])),
    problems,
  };
}

async function readFiles(
  item: StartedItem,
  results: Pick<ResultStore, 'get'>,
): Promise<Map<string, FileBytes>> {
  const uploads = new Map<string, FileBytes>();
  for (const file of item.input.files) {
    const name = inputName(item, file);
    const bytes = await results.get(name);
    if (!bytes) {
      throw new Error(
        `${name} is not where files of jobs are kept: do all processes have the same HELPER_RESULTS_URL or HELPER_DATA_DIR?`,
      );
    }
    const { field, type, name: given } = file;
    uploads.set(field, { bytes: own(bytes), type, ...(given === undefined ? {} : { name: given }) });
  }
  return uploads;
}

/** In memory of its own, which is then moved to a thread. */
function own(bytes: Buffer): Uint8Array {
  const isAlone = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  return isAlone ? bytes : new Uint8Array(bytes);
}
