import type { BodyAnswer, BytesAnswer } from './answer.js';
import { answerOf, type CallOptions, invoke, openFile } from './call-plugin.js';
import type { CallScope } from './context/handler-context.js';
import { codedError } from './errors.js';
import type { EncodeOptions, Image, OutputFormat } from './image/engine.js';
import { keepsAnimation } from './image/options.js';
import { afterStep, forStep } from './image/recorded-image.js';
import type { LoadedPlugin } from './plugin.js';
import type { CallStep, CallTask, TaskFiles } from './task.js';

/** Why a step failed. */
export class StepFailure extends Error {
  readonly step: number;

  constructor(step: number, cause: unknown) {
    super('a step failed', { cause });
    this.step = step;
  }
}

interface StepsOptions extends CallOptions {
  /** The plugin of a step, and what its handler may use beside the input. */
  begin(step: CallStep): Promise<{ loaded: LoadedPlugin; scope: CallScope }>;
  end(): void;
}

/** What a step has made: a picture that is recorded, or a file that its handler has encoded itself. */
interface StepResult {
  image: Image;
  /** What the handler chose. */
  format?: OutputFormat;
  options?: EncodeOptions;
  file?: BodyAnswer;
}

/** Plugins whose handlers read bytes: they get them at once the next time. */
const wantBytes = new WeakSet<LoadedPlugin>();

/**
 * Runs helpers one after another on one picture, which is decoded and encoded once: each handler records its operations, and is handed
 * the picture so far. One that reads the bytes of its picture, or of its result, is called again with a PNG. Throws a `StepFailure` for
 * what a step throws.
 */
export async function runSteps(
  { input, files = {}, steps = [] }: CallTask,
  options: StepsOptions,
): Promise<BytesAnswer> {
  if (!files.file) throw new Error('steps were run without a picture');
  const { format, quality } = input as { format?: OutputFormat; quality?: number };
  const opened = await openFile(files.file, options);
  const { name: engine } = await options.engine;
  const target = format === 'same' ? opened.format : format;
  const keepsFrames = target !== undefined && keepsAnimation(engine, target);
  let last: StepResult = { image: opened };
  let isShipped = true;
  for (const [at, step] of steps.entries()) {
    try {
      const { loaded, scope } = await options.begin(step);
      isShipped = loaded.shipped;
      last = await runStep(loaded, { ...step, at, files, image: last.image, keepsFrames }, scope, options);
      if (scope.reason) throw scope.reason;
    } catch (error) {
      throw new StepFailure(at, error);
    } finally {
      options.end();
    }
  }
  // A choice of the plugin's own, where the caller made none.
  if (format === undefined && last.file) return last.file;
  const own = isShipped ? undefined : last.format;
  const settings = own === undefined || format !== undefined ? { quality } : last.options;
  const encoded = await last.image.encode(format ?? own ?? 'png', settings);
  return answerOf(encoded, { shipped: true }, options);
}

interface StepCall extends CallStep {
  at: number;
  /** Of all steps. */
  files: TaskFiles;
  image: Image;
  keepsFrames: boolean;
}

async function runStep(
  loaded: LoadedPlugin,
  { at, input, names, files, image, keepsFrames }: StepCall,
  scope: CallScope,
  options: CallOptions,
): Promise<StepResult> {
  const prefix = `${at}.`;
  const own = Object.entries(files).filter(([field]) => field.startsWith(prefix));
  const given = Object.fromEntries(own.map(([field, file]) => [field.slice(prefix.length), file]));
  const call = (handed: Image) =>
    invoke(loaded, { does: 'handler', input, files: given, names, image: handed }, scope, options);
  if (!wantBytes.has(loaded)) {
    const { image: handed, step } = forStep(image, true);
    const result = await call(handed).catch((error) => {
      if (!step.wantsBytes) throw error;
    });
    if (!step.wantsBytes) return afterStep(result, keepsFrames) ?? fileOf(result, loaded, options);
    wantBytes.add(loaded);
  }
  const { body: bytes } = await image.encode('png');
  const { image: handed } = forStep(await openFile({ bytes }, options), false);
  return fileOf(await call(handed), loaded, options);
}

async function fileOf(result: unknown, loaded: LoadedPlugin, options: CallOptions): Promise<StepResult> {
  const file = answerOf(result, loaded, options);
  if (file.kind === 'bytes' && /^image\//i.test(file.type))
    return { image: await openFile(file, options), file };
  const problem = `answers ${file.kind === 'json' ? 'data' : file.type}, so it cannot be a step: a step answers a picture`;
  throw codedError('invalid_input', problem, { details: [{ field: 'use', problem }] });
}
