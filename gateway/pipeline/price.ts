import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { CallKind, CallPrice, Costs } from '../../pool/costs.js';
import { probeImage } from '../../pool/image/header.js';
import type { FileBytes, TaskFiles } from '../../pool/task.js';
import { asSchema } from '../../schemas/json-schema.js';
import { toGatewayError } from '../errors.js';
import { examplePicture } from '../plugins/paths.js';
import type { Helper } from '../plugins/registry.js';
import { CallState } from './stage.js';

/** What calls have cost, and are likely to cost. */
export type CallCosts = Pick<Costs, 'note' | 'price'>;

type Files = Iterable<Pick<FileBytes, 'header' | 'bytes'>>;

/** Pixels of all pictures among them; undefined where there is none. */
export function pixelsOf(files: Files): number | undefined {
  let pixels: number | undefined;
  for (const { header, bytes } of files) {
    // A dry run checks no upload, which may then be anything.
    const { width = 0, height = 0, frames = 1 } = header ?? probeImage(bytes) ?? {};
    if (width > 0) pixels = (pixels ?? 0) + width * height * frames;
  }
  return pixels;
}

/** The requested picture format, where the schema lists a few: the pool has a mean cost of each. */
export function variantOf({ declaration }: Helper): (given: Record<string, unknown>) => string | undefined {
  const { choice, enum: listed } = asSchema(asSchema(declaration.input.properties).format);
  if (choice === undefined && listed === undefined) return () => undefined;
  return ({ format }) => (typeof format === 'string' ? format : undefined);
}

/** Finds the kind of a helper's calls, by which their cost is known. */
export function createKindOf(helper: Helper): (input: Record<string, unknown>, files?: Files) => CallKind {
  const { id: service, declaration } = helper;
  const takesPictures = declaration.files.some(({ kind }) => kind === 'image');
  const variantFor = variantOf(helper);
  return (input, files = []) => ({
    service,
    variant: variantFor(input),
    size: takesPictures ? pixelsOf(files) : charactersOf(input),
  });
}

/** Others wait no longer for a trial: on the ticket of a job's item it may come after all calls. */
const trialWaitMs = 2_000;

/**
 * Finds what a helper's calls are likely to cost. Where nothing is known yet of shipped helpers of pictures, the first dry run to ask has
 * the shipped picture worked on as its call would work on one: on the tenant's ticket, and free of charge.
 */
export function createPriceOf<Call extends { state: CallState }>(
  costs: CallCosts | undefined,
  run: (call: Call & { files: TaskFiles }) => Promise<unknown>,
) {
  // Of shipped helpers and formats there are only so many.
  const trials = new Map<string, Promise<unknown>>();

  async function tryOnExample(call: Call, name: string): Promise<void> {
    const bytes = new Uint8Array(await readFile(examplePicture));
    const files = { file: { bytes, type: 'image/jpeg', header: probeImage(bytes) } };
    await run({ ...call, state: new CallState('price'), files }).catch((error) => {
      // Where it fails otherwise, what it costs stays unknown: it is not to be had for nothing again and again.
      if ([429, 503].includes(toGatewayError(error).status)) trials.delete(name);
    });
  }

  return async function priceOf(call: Call, kind: CallKind, helpers: readonly Helper[]): Promise<CallPrice> {
    const known = costs?.price(kind);
    if (known || !costs || !helpers.every(isShippedForPictures)) return { cpu_ms: known ?? null };
    const name = `${kind.service} ${kind.variant}`;
    const begun = trials.get(name);
    if (begun) await Promise.race([begun, pause(trialWaitMs, undefined, { ref: false })]);
    else {
      const trial = tryOnExample(call, name);
      trials.set(name, trial);
      await trial;
    }
    return { cpu_ms: costs.price(kind) ?? null };
  };
}

function isShippedForPictures({ shipped, declaration }: Helper): boolean {
  return shipped === true && declaration.files.some(({ kind }) => kind === 'image');
}

function charactersOf(input: Record<string, unknown>): number {
  let characters = 0;
  for (const name in input) {
    const value = input[name];
    if (typeof value === 'string') characters += value.length;
  }
  return characters;
}
