/** The public interface for plugins, imported as `helper-gateway/helper`. It imports no code, only types. */

import type { ConfigFields, DataOf, Declaration, FileFields, HelperResult } from './plugins/contract.js';
import type { InputSchema, ObjectSchema } from './plugins/contract-schema.js';

export type {
  BorderOptions,
  CompositeOptions,
  Corner,
  CropOptions,
  EncodedImage,
  EncodeOptions,
  Fit,
  Image,
  ImageFormat,
  LogoOptions,
  MarkOptions,
  Measure,
  OutputFormat,
  Pixels,
  Position,
  ResizeOptions,
  SourceFile,
  SourceImageFormat,
  WatermarkOptions,
} from '../pool/image/engine.js';
export type {
  Binary,
  CallContext,
  ConfigField,
  ConfigFields,
  ConfigOf,
  DataOf,
  Declaration,
  DryrunContext,
  Fetched,
  FetchOptions,
  FileBytes,
  FileField,
  FileFields,
  FilesOf,
  HandlerContext,
  HelperContext,
  HelperDeclaration,
  HelperExample,
  HelperLog,
  HelperResult,
  SetupContext,
} from './plugins/contract.js';
export type { InputSchema, ObjectSchema, Schema } from './plugins/contract-schema.js';
export type { DryrunInputOf, InputOf, SentInputOf, ValueOf } from './plugins/contract-values.js';

/** Returns its argument; it is there for the types, a plain object of the same shape is as good. */
export function defineHelper<
  const Input extends InputSchema,
  const Output extends ObjectSchema,
  Source extends 'image' | undefined = undefined,
  const Files extends FileFields = Record<never, never>,
  const Config extends ConfigFields = Record<never, never>,
  State = undefined,
  const Result extends HelperResult<DataOf<Output>> = HelperResult<DataOf<Output>>,
>(
  declaration: Declaration<Input, Output, Source, Files, Config, State, Result>,
): Declaration<Input, Output, Source, Files, Config, State, Result> {
  return declaration;
}

/**
 * The parameters by which a helper that answers with a picture lets the caller choose its form: spread them into `properties`, and
 * hand both to `image.encode`. They go with `onlyWith: pictureOutputRules`.
 */
export const pictureOutput = {
  format: {
    type: 'string',
    choice: { png: [], jpg: ['jpeg'], webp: [], avif: [], same: [] },
    encodable: true,
    default: 'png',
    description: 'Format of the result; "same" keeps that of the picture.',
  },
  quality: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    description: 'Quality of the result, from 1 (a small file) to 100 (the finest picture).',
  },
} as const;

/** What `quality` makes sense with: the `onlyWith` of an input that has the parameters of `pictureOutput`. */
export const pictureOutputRules = { quality: { format: ['jpg', 'webp', 'avif', 'same'] } } as const;

/**
 * An error for input that the schema cannot check: thrown by a handler it becomes 400 `invalid_input` with this
 * field and problem. An object of the same shape, `{code: 'invalid_input', details: [{field, problem}]}`, is as good.
 */
export function invalidInput(field: string, problem: string): Error {
  return Object.assign(new Error(`${field} ${problem}`), {
    code: 'invalid_input',
    details: [{ field, problem }],
  });
}

const failCodes = ['not_found', 'conflict', 'upstream_failed'] as const;

/** Why a call whose input is right cannot be answered. */
export type FailCode = (typeof failCodes)[number];

/**
 * An error of the world outside: thrown by a handler it becomes 404 `not_found`, 409 `conflict` or 502 `upstream_failed` with this
 * message, which is public. An object of the same shape, `{code, message, expose: true}`, is as good.
 */
export function fail(code: FailCode, message: string): Error {
  // JavaScript has no types that would find a wrong code, and the call would be a fault with this message alone.
  if (!failCodes.includes(code)) {
    throw new TypeError(`fail has no code ${JSON.stringify(code)}; write one of ${failCodes.join(', ')}`);
  }
  return Object.assign(new Error(message), { code, expose: true });
}
