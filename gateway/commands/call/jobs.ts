import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { once } from '../../../pool/concurrency.js';
import type { FileBytes } from '../../../pool/task.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import { readUtf8 } from '../../../schemas/input/parse.js';
import { quote } from '../../../schemas/quote.js';
import { inputError } from '../../errors.js';
import { fileType, unknownType } from '../../http/body.js';
import type { GivenInput } from '../../local-helpers.js';
import type { Words } from './words.js';

/** One call of a command line. */
export interface Job {
  /** The file's path as it was typed; absent for a call without one. */
  file?: string;
  /** The paths of all files that it reads, `-` for standard input. */
  reads: readonly string[];
  /** Reads what the call is given. Throws `invalid_input` for a file that cannot be read. */
  load(): Promise<GivenInput>;
}

const notAccepted = 'is not taken by this helper; a value stands behind its name (--NAME VALUE), but here is';

/** The calls of a command line: one for each file, sent in the helper's first file field; otherwise one. */
export function jobsOf(
  words: Words,
  { files: fields }: { files: readonly Pick<FileField, 'field' | 'parameter' | 'types'>[] },
  input: Input,
): Job[] {
  const [first] = fields;
  // Where the helper accepts no file, the word is a value without its name.
  const nameless = first
    ? []
    : words.files.map((word) => ({ field: 'file', problem: `${notAccepted} ${quote(word)}` }));
  const problems = [...words.problems, ...nameless];
  const paths = new Map<string, string>();
  for (const { field, parameter } of fields) {
    const path = words.fromInput.includes(field) ? '-' : words.values.get(field);
    if (path !== undefined && !(field === parameter && /^https?:/i.test(path))) paths.set(field, path);
  }
  const sharedReads = [...paths.values(), ...(words.fromInput.length > 0 ? ['-'] : [])];
  const shared = once(async (): Promise<Required<Pick<GivenInput, 'query' | 'uploads'>>> => {
    const values = new Map(words.values);
    const uploads = new Map();
    for (const each of fields) {
      const path = paths.get(each.field);
      if (path === undefined) continue;
      values.delete(each.field);
      uploads.set(each.field, await readUpload(path, each, input));
    }
    for (const name of words.fromInput.filter((each) => !uploads.has(each))) {
      const text = readUtf8(await input.read(name), name);
      if ('problems' in text) throw inputError(text.problems);
      values.set(name, text.value);
    }
    return { query: { values, problems }, uploads };
  });

  if (words.files.length === 0 || first === undefined) return [{ reads: sharedReads, load: shared }];
  return words.files.map((file) => ({
    file,
    reads: [file, ...sharedReads],
    async load() {
      const { query, uploads } = await shared();
      const copies = [...uploads].map(
        ([name, each]) => [name, { ...each, bytes: each.bytes.slice() }] as const,
      );
      return { query, uploads: new Map([...copies, [first.field, await readUpload(file, first, input)]]) };
    },
  }));
}

/** Standard input, which can be read once. */
export interface Input {
  /** Bytes that are read of it or of a file: one more than a call may have, so that a longer one is refused as too large. */
  most: number;
  read(field: string): Promise<Uint8Array<ArrayBuffer>>;
}

/** Reads a stream to its end for the first field that asks for it, and refuses any other. */
export function createInput(stream: AsyncIterable<Uint8Array>, mostBytes: number): Input {
  let reader: string | undefined;
  const most = mostBytes + 1;
  return {
    most,
    async read(field) {
      if (reader !== undefined) {
        const problem = `is to be read from standard input, which ${reader} has been read from already`;
        throw inputError([{ field, problem }]);
      }
      reader = field;
      return readAtMost(stream, most);
    },
  };
}

/** Reads the file of a field, `-` from standard input. Throws `invalid_input` on the field where it cannot be read. */
async function readUpload(
  path: string,
  { field, types = [] }: Pick<FileField, 'field' | 'types'>,
  input: Input,
): Promise<FileBytes> {
  // Without a name that says its type, it is of the type that the field accepts.
  const unnamed = types.find((type) => !type.includes('*')) ?? unknownType;
  if (path === '-') return { bytes: await input.read(field), type: unnamed };
  try {
    const bytes = await readAtMost(createReadStream(path), input.most);
    const type = fileType(unknownType, path);
    return { bytes, type: type === unknownType ? unnamed : type, name: basename(path) };
  } catch (error) {
    throw inputError([{ field, problem: `cannot be read: ${readProblem(error, path)}` }], error);
  }
}

/** Into memory of its own: it is moved to a worker, and small buffers share theirs. */
async function readAtMost(stream: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size >= most) break;
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function readProblem(error: unknown, path: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no file ${path}`;
  if (code === 'EISDIR') return `${path} is a folder`;
  if (code === 'EACCES') return `${path} may not be read by this user`;
  return message;
}
