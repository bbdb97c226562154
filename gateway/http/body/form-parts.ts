import type { FieldProblem } from '../../../schemas/field-problem.js';
import { fieldName } from '../../../schemas/quote.js';
import { GatewayError, inputError } from '../../errors.js';
import { createGrowingBuffer, type GrowingBuffer } from './growing-buffer.js';
import type { PartListener } from './multipart-parser.js';
import type { PartHeader } from './part-header.js';

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
  /** Names given twice, files that are not the one file, and names that cannot be read: each once. */
  problems: FieldProblem[];
  /** Whether a file came under another name, which is among the problems. */
  hasLostFile: boolean;
  /** The first file under the file field's name, alone in its ArrayBuffer; empty where files are not kept. */
  file?: Uint8Array<ArrayBuffer>;
}

export interface FormPartsOptions {
  /** Whether a file's bytes are kept; else they are counted and dropped, for a helper that wants none. */
  keepsFile: boolean;
  /** The one field that may be a file. */
  fileField: string;
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
const maxFiles = 2;
const maxNameBytes = 200;
const firstTextBytes = 256;
/** A promised length is believed up to this, and beyond when so much has come. */
const firstFileBytes = 1024 * 1024;

export interface FormParts {
  listener: PartListener;
  /** What was gathered, when all parts have come. */
  take(): MultipartBody;
  /** Lets go of it: an error keeps alive what its stack ran through until somebody reads it, and this must not be among that. */
  drop(): void;
}

/** Gathers the parts of a form, bounded in number and in bytes as they come. */
export function createFormParts(
  limits: MultipartLimits,
  { keepsFile, fileField, bodyBytes }: FormPartsOptions,
): FormParts {
  const { maxFileBytes, maxTextBytes } = limits;
  const gathered = new Map<string, GrowingBuffer>();
  const seen = new Set<string>();
  const problems: FieldProblem[] = [];
  const taken = { fields: 0, files: 0, text: 0, file: 0, framing: 0 };
  let file: GrowingBuffer | undefined;
  let hasLostFile = false;
  let part: { kind: 'text' | 'file'; into?: GrowingBuffer | undefined } = { kind: 'text' };

  const count = (kind: 'text' | 'file' | 'framing', bytes: number, max: number) => {
    taken[kind] += bytes;
    if (taken[kind] > max) throw uploadTooLarge(limits);
  };

  const tell = (field: string, problem: string) => {
    if (!problems.some((told) => told.field === field && told.problem === problem)) {
      problems.push({ field, problem });
    }
  };

  /** The part's name, if it is one that its content can be gathered under. */
  function newName(bytes: string): string | undefined {
    if (bytes.length > maxNameBytes) {
      tell('body', `must not have names of more than ${maxNameBytes} bytes`);
      return undefined;
    }
    const name = decodeName(bytes);
    if (name === undefined) {
      tell('body', 'must have names that are UTF-8 text');
      return undefined;
    }
    if (seen.has(name)) {
      tell(fieldName(name), 'must be given once, but is given more than once');
      gathered.delete(name);
      return undefined;
    }
    seen.add(name);
    return name;
  }

  function startFile(header: PartHeader): GrowingBuffer | undefined {
    taken.files += 1;
    // One of two is wrong already, and has its problem.
    if (taken.files > maxFiles) throw inputError(problems);
    const name = newName(header.name);
    if (name === undefined) return undefined;
    if (name !== fileField) {
      hasLostFile = true;
      const instead = keepsFile ? `the file field is called ${fileField}` : 'this helper takes none';
      tell(fieldName(name), `must not be a file; ${instead}`);
      return undefined;
    }
    file = createGrowingBuffer(keepsFile ? maxFileBytes : 0, bytesLeft(), firstFileBytes);
    return keepsFile ? file : undefined;
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
    const name = newName(header.name);
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
      const fields = new Map([...gathered].map(([name, value]) => [name, value.bytes()]));
      return { fields, problems, hasLostFile, ...(file && { file: file.bytes() }) };
    },
    drop() {
      gathered.clear();
      file = undefined;
      part = { kind: 'text' };
    },
  };
}

/** The text of bytes that are one character each; undefined where they are not UTF-8. */
function decodeName(bytes: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
