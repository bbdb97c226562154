import type { FieldProblem } from '../../../schemas/field-problem.js';
import { fieldName } from '../../../schemas/quote.js';
import { GatewayError, inputError } from '../../errors.js';
import { fileType } from './file-type.js';
import { createGrowingBuffer, type GrowingBuffer } from './growing-buffer.js';
import type { PartListener } from './multipart-parser.js';
import type { PartHeader } from './part-header.js';
import { createPartNames } from './part-names.js';

export interface MultipartLimits {
  /** Bytes of all files together. */
  maxFileBytes: number;
  /** Bytes of all text fields' values together. */
  maxTextBytes: number;
}

/** What stood in a multipart/form-data body. */
export interface MultipartBody {
  /** The bytes of each text field that came once, each alone in its ArrayBuffer; that they are UTF-8 is still to be judged. */
  fields: Map<string, Uint8Array<ArrayBuffer>>;
  /** Names given twice, files under other names, and names that cannot be read: each once. */
  problems: FieldProblem[];
  /** Whether a file came under another name, which is among the problems. */
  hasLostFile: boolean;
  /** The files by their fields, each alone in its ArrayBuffer. */
  files: Map<string, UploadedFile>;
}

export interface UploadedFile {
  bytes: Uint8Array<ArrayBuffer>;
  /** The media type that the client gives it. */
  type: string;
  name?: string;
}

export interface FormPartsOptions {
  /** The fields that may be files; a file in any other is counted and dropped. */
  fileFields: readonly string[];
  /** Bytes of the body without what closes it, if a content-length told. */
  bodyBytes?: number | undefined;
}

/** Bytes of boundaries and headers of a multipart body at most, on top of what its parts may hold. */
const maxFramingBytes = 64 * 1024;
/** Bytes of the largest body that these limits allow. */
export function largestUpload({ maxFileBytes, maxTextBytes }: MultipartLimits): number {
  return maxFileBytes + maxTextBytes + maxFramingBytes;
}

export function uploadTooLarge({ maxFileBytes, maxTextBytes }: MultipartLimits): GatewayError {
  return new GatewayError('too_large', {
    message: `The upload is larger than this gateway accepts: ${maxFileBytes} bytes of file and ${maxTextBytes} of text.`,
  });
}

/** More text fields than any helper has parameters. */
const maxFields = 100;
const firstTextBytes = 256;
/** A promised length is believed up to this, and beyond when so much has come. */
const firstFileBytes = 1024 * 1024;

/** Gathers the parts of a body. */
export interface Parts<T> {
  listener: PartListener;
  /** What was gathered, when all parts have come. */
  take(): T;
  /** Lets go of it: an error keeps alive what its stack ran through until somebody reads it, and this must not be among that. */
  drop(): void;
}

/** Gathers the parts of a form, bounded in number and in bytes as they come. */
export function createFormParts(
  limits: MultipartLimits,
  { fileFields, bodyBytes }: FormPartsOptions,
): Parts<MultipartBody> {
  const { maxFileBytes, maxTextBytes } = limits;
  const gathered = new Map<string, GrowingBuffer>();
  const names = createPartNames();
  const { problems, tell } = names;
  const taken = { fields: 0, files: 0, text: 0, file: 0, framing: 0 };
  const files = new Map<string, { header: PartHeader; into: GrowingBuffer }>();
  let hasLostFile = false;
  let part: { kind: 'text' | 'file'; into?: GrowingBuffer | undefined } = { kind: 'text' };

  const count = (kind: 'text' | 'file' | 'framing', bytes: number, max: number) => {
    taken[kind] += bytes;
    if (taken[kind] > max) throw uploadTooLarge(limits);
  };

  function startFile(header: PartHeader): GrowingBuffer | undefined {
    taken.files += 1;
    const name = names.readOnce(header.name);
    if (name !== undefined && !fileFields.includes(name)) {
      hasLostFile = true;
      tell(fieldName(name), notAFile(fileFields));
    }
    // One of them is wrong already, and has its problem.
    if (taken.files > fileFields.length + 1) throw inputError(problems);
    if (name === undefined || !fileFields.includes(name)) return undefined;
    const into = createGrowingBuffer(maxFileBytes, bytesLeft(), firstFileBytes);
    files.set(name, { header, into });
    return into;
  }

  /** What the file has if it comes last: then it is gathered where it stays, and nothing is copied. */
  function bytesLeft(): number | undefined {
    const left = bodyBytes && bodyBytes - taken.framing - taken.text - taken.file;
    return left && left > 0 ? left : undefined;
  }

  function startText(header: PartHeader): GrowingBuffer | undefined {
    taken.fields += 1;
    if (taken.fields > maxFields) {
      const problem = `must not hold more than ${maxFields} text fields`;
      throw inputError([{ field: 'body', problem }]);
    }
    const name = names.readOnce(header.name);
    if (name === undefined) return undefined;
    const into = createGrowingBuffer(maxTextBytes, firstTextBytes);
    gathered.set(name, into);
    return into;
  }

  return {
    listener: {
      onPart(header) {
        part = header.file
          ? { kind: 'file', into: startFile(header) }
          : { kind: 'text', into: startText(header) };
      },
      onContent(bytes) {
        count(part.kind, bytes.length, part.kind === 'file' ? maxFileBytes : maxTextBytes);
        part.into?.add(bytes);
      },
      onFraming: (bytes) => count('framing', bytes, maxFramingBytes),
    },
    take() {
      for (const name of names.twice) gathered.delete(name);
      const fields = new Map([...gathered].map(([name, value]) => [name, value.bytes()]));
      return { fields, problems, hasLostFile, files: new Map([...files].flatMap(uploaded)) };
    },
    drop() {
      gathered.clear();
      files.clear();
      part = { kind: 'text' };
    },
  };
}

/** A form that is sent with a file field that nobody touched has an empty file of no name there: none. */
function uploaded([field, { header, into }]: [string, { header: PartHeader; into: GrowingBuffer }]): [
  string,
  UploadedFile,
][] {
  const { type, fileName } = header;
  const bytes = into.bytes();
  if (bytes.length === 0 && fileName === '') return [];
  return [[field, { bytes, type: fileType(type, fileName), ...(fileName ? { name: fileName } : {}) }]];
}

function notAFile(fileFields: readonly string[]): string {
  if (fileFields.length === 0) return 'is not taken by this helper, which works without a file';
  const called = fileFields.length === 1 ? 'field is' : 'fields are';
  return `must not be a file; the file ${called} called ${fileFields.join(', ')}`;
}
