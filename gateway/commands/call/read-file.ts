import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { FileBytes } from '../../../pool/task.js';
import type { FileField } from '../../../schemas/declared-helper.js';
import { inputError } from '../../errors.js';
import { fileType, unknownType } from '../../http/body/file-type.js';

/** Standard input, which can be read once. */
export interface Input {
  /** Bytes that are read of it or of a file: one more than any call may bring, so that what is longer is refused for that. */
  most: number;
  read(field: string): Promise<Uint8Array<ArrayBuffer>>;
}

/** Reads a stream to its end for the first who asks; any other is told, on its field, that it has been read. */
export function createInput(stream: AsyncIterable<Uint8Array>, mostTaken: number): Input {
  let reader: string | undefined;
  const most = mostTaken + 1;
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

/** Reads the file that is sent in a field, `-` from standard input; throws `invalid_input` on the field where it cannot be read. */
export async function readUpload(
  path: string,
  { field, types = [] }: Pick<FileField, 'field' | 'types'>,
  input: Input,
): Promise<FileBytes> {
  // Where no name tells what it is, whoever gives it has said: what the field takes.
  const unnamed = types.find((type) => !type.includes('*')) ?? unknownType;
  if (path === '-') return { bytes: await input.read(field), type: unnamed };
  try {
    const bytes = await readAtMost(createReadStream(path), input.most);
    const type = fileType(unknownType, path);
    return { bytes, type: type === unknownType ? unnamed : type, name: basename(path) };
  } catch (error) {
    throw inputError([{ field, problem: `cannot be read: ${reasonOf(error, path)}` }], error);
  }
}

/** In memory of its own, because it is moved to a worker and small files share theirs with others. */
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

function reasonOf(error: unknown, path: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `there is no file ${path}`;
  if (code === 'EISDIR') return `${path} is a folder`;
  if (code === 'EACCES') return `${path} may not be read by this user`;
  return message;
}
