import { asSchema } from '../schemas/json-schema.js';
import { type BytesAnswer, makeAnswer, toBytes } from './answer.js';
import { type CallScope, HandlerContext } from './context/handler-context.js';
import type { Image, ImageEngine, ImageLimits } from './image/engine.js';
import { freshBytes } from './image/recorded-image.js';
import { guard, type LoadedPlugin } from './plugin.js';
import type { CallStep, CallTask, FileBytes, TaskFiles } from './task.js';
import { restoreObjectPrototype } from './thread-settings.js';

export interface CallOptions {
  /** Read for a picture alone: a lean thread loads it when it is first read. */
  readonly engine: Promise<ImageEngine>;
  limits: ImageLimits;
  /** Bytes of JSON that a handler may answer with. */
  maxJsonBytes: number;
  /** Bytes that one answer may have. */
  maxBodyBytes?: number | undefined;
}

/** What one of a plugin's functions is called with. */
export interface Invocation extends Pick<CallTask, 'does' | 'input'> {
  files: TaskFiles;
  /** What the caller named its files, where that is not by the names of the parameters. */
  names?: CallStep['names'];
  /** In place of the file of a picture. */
  image?: Image | undefined;
}

/** Calls one of a plugin's functions and makes the answer of what it returns. */
export async function callPlugin(
  loaded: LoadedPlugin,
  { does, input, files = {} }: CallTask,
  scope: CallScope,
  options: CallOptions,
): Promise<BytesAnswer> {
  return answerOf(await invoke(loaded, { does, input, files }, scope, options), loaded, options);
}

/** Calls one of a plugin's functions with its files opened. */
export async function invoke(
  { service, plugin, shipped, parts }: LoadedPlugin,
  { does, input, files, names = {}, image }: Invocation,
  scope: CallScope,
  options: CallOptions,
): Promise<unknown> {
  const context = new HandlerContext(scope, parts);
  if (plugin.files) {
    const kinds = asSchema(plugin.files);
    const opened: Record<string, unknown> = {};
    for (const [field, file] of Object.entries(files)) {
      if (!Object.hasOwn(kinds, field)) continue;
      const { kind, parameter } = asSchema(kinds[field]);
      // As callers know it: by what they have sent.
      const own = typeof parameter === 'string' && Object.hasOwn(input, parameter) ? parameter : field;
      opened[field] = kind === 'image' ? await openFile(file, options, names[field] ?? own) : file;
    }
    context.files = opened;
  }
  const picture = plugin.source === 'image' ? files.file : undefined;
  if (image) context.image = image;
  else if (picture) context.image = await openFile(picture, options);
  const handle = async () => {
    const called = plugin[does];
    return typeof called === 'function' ? called.call(plugin, input, context) : undefined;
  };
  const hide = parts.redactor?.text;
  const guarded = () => guard({ name: service, hide }, handle).finally(() => restoreObjectPrototype(service));
  return shipped ? handle() : guarded();
}

/** Opens a picture, called `name` where it is one of several. */
export async function openFile(
  { bytes, header }: Pick<FileBytes, 'bytes' | 'header'>,
  { engine, limits }: CallOptions,
  name?: string,
): Promise<Image> {
  return (await engine).open(bytes, limits, { name, header });
}

/** The answer that is made of what a handler has returned. */
export function answerOf(result: unknown, { shipped }: Pick<LoadedPlugin, 'shipped'>, options: CallOptions) {
  const answer = toBytes(makeAnswer(result, options.maxJsonBytes, options.maxBodyBytes));
  return { ...answer, bytes: ownBytes(answer, shipped) };
}

/**
 * Bytes that may be moved to the main thread: JSON's are, and a picture's that a shipped plugin drew. Any others are copied, for a
 * plugin may keep what it answers with, such as a picture that it drew once, and moved memory would be gone from its next answer.
 */
function ownBytes({ kind, bytes }: BytesAnswer, shipped: boolean): Uint8Array<ArrayBuffer> {
  const mine = kind === 'json' || (shipped && freshBytes.delete(bytes));
  const alone = mine && bytes.byteLength === bytes.buffer.byteLength;
  return alone ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}
