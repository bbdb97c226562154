import { Writable } from 'node:stream';
import type { ExtendedFormidableOptions } from 'koa-body';
import type { FieldProblem } from '../../schemas/problem.js';
import { fieldName } from '../../schemas/quote.js';
import { GatewayError } from '../errors.js';
import type { BodyLimits } from './read-input.js';
import type { BodyInput } from './state.js';

/** The one file field: the picture. */
const fileField = 'file';

/** More text fields than any helper has parameters. */
const maxFields = 100;

/** What formidable keeps of an upload: its bytes, in memory, where a fault can leave nothing behind on disk. */
class UploadedFile extends Writable {
  readonly #chunks: Uint8Array[] = [];
  readonly #keeps: boolean;
  #length = 0;

  constructor(keeps: boolean) {
    super();
    this.#keeps = keeps;
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    if (this.#keeps) {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
    }
    done();
  }

  /** The bytes in memory of their own, which can be moved to a worker. */
  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }
}

/**
 * Formidable's settings: bounded in every direction, and nothing written to disk. A file's bytes are kept only for a
 * helper that wants one; for any other the file is a mistake to name.
 */
export function multipartOptions(
  { maxTextBytes, maxImageBytes }: BodyLimits,
  keepsFile: boolean,
): ExtendedFormidableOptions {
  return {
    maxFields,
    maxFieldsSize: maxTextBytes,
    maxFiles: 2,
    maxFileSize: maxImageBytes,
    maxTotalFileSize: maxImageBytes,
    // An empty file is judged as a picture like any other.
    allowEmptyFiles: true,
    minFileSize: 0,
    fileWriteStreamHandler: () => new UploadedFile(keepsFile),
  };
}

/** Formidable's codes for too many parts, which it calls 413 like too many bytes. */
export function tooManyParts(code: unknown): FieldProblem | undefined {
  if (code === 1007) return { field: 'body', problem: `must not hold more than ${maxFields} text fields` };
  if (code === 1015) return { field: fileField, problem: 'must be given once, but is given more than once' };
  return undefined;
}

/** Sorts what formidable found into text fields and the file; throws `invalid_input` for a file that is not the one. */
export function readMultipart(fields: unknown, files: unknown): BodyInput {
  const values = new Map<string, string>();
  const problems: FieldProblem[] = [];
  for (const [name, value] of Object.entries((fields ?? {}) as Record<string, string | string[]>)) {
    if (typeof value === 'string') values.set(name, value);
    else
      problems.push({ field: fieldName(name), problem: 'must be given once, but is given more than once' });
  }
  let file: Uint8Array | undefined;
  for (const [name, value] of Object.entries((files ?? {}) as Record<string, unknown>)) {
    const field = fieldName(name);
    if (name !== fileField) {
      problems.push({ field, problem: `must not be a file; the file field is called ${fileField}` });
    } else if (Array.isArray(value)) {
      problems.push({ field, problem: 'must be given once, but is given more than once' });
    } else {
      // formidable keeps the stream that its handler made in `_writeStream`; it is given to nobody else.
      file = (value as { _writeStream: UploadedFile })._writeStream.bytes();
    }
  }
  if (file && problems.length > 0) throw new GatewayError('invalid_input', { details: problems });
  return { text: { values, problems }, ...(file ? { file } : {}) };
}
