import type { DeclaredHelper } from '../../../schemas/declared-helper.js';
import { readUtf8 } from '../../../schemas/input/utf8.js';
import { quote } from '../../../schemas/quote.js';
import { inputError } from '../../errors.js';
import type { GivenInput } from '../../local/given-input.js';
import { type Input, readUpload } from './read-file.js';
import type { Words } from './words.js';

/** One call of many. */
export interface Job {
  /** The file's path as it was typed; absent for a call without one. */
  file?: string;
  /** The paths of all files that it reads, `-` for standard input. */
  reads: readonly string[];
  /** Reads what the call is given. Throws `invalid_input` for a file that cannot be read. */
  load(): Promise<GivenInput>;
}

const url = /^https?:/i;

const notTaken = 'is not taken by this helper; a value stands behind its name (--NAME VALUE), but here is';

/**
 * The calls that a command line asks for: one for each file that it names, which is sent in the helper's first file field; else
 * one. What a file field's own option names is sent with each of them, from the disk, or by its url where it is one.
 */
export function jobsOf(words: Words, { files: fields }: Pick<DeclaredHelper, 'files'>, input: Input): Job[] {
  const [first] = fields;
  // Where no file is taken, it is a value whose name was left out.
  const nameless = first
    ? []
    : words.files.map((word) => ({ field: 'file', problem: `${notTaken} ${quote(word)}` }));
  const problems = [...words.problems, ...nameless];
  const paths = new Map<string, string>();
  for (const { field, parameter } of fields) {
    const path = words.fromInput.includes(field) ? '-' : words.values.get(field);
    if (path !== undefined && !(field === parameter && url.test(path))) paths.set(field, path);
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

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
