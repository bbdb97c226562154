import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { fieldName } from '../../schemas/quote.js';
import { GatewayError, inputError } from '../errors.js';
import { createGrowingBuffer, type GrowingBuffer, readInto, type Sink } from './body.js';
import { fileType } from './file-type.js';
import {
  createMultipartParser,
  malformedMultipart,
  type PartHeader,
  type PartListener,
  parseHeaderValue,
} from './multipart-parser.js';

export interface ReadMultipartOptions {
  /** The fields that may be files; a file in any other is counted and dropped. */
  fileFields: readonly string[];
  /** Ends the reading at once; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Reads a multipart/form-data body from `request`, bounded in every direction as the bytes come, and keeps it in memory, where a
 * fault can leave nothing behind on disk. Rejects with a `GatewayError`: `too_large` past the limits; `invalid_input` for what is
 * malformed or breaks off, for more than 100 text fields or a file too many; or with `signal`'s reason. `request` is never destroyed:
 * it is paused when the promise is rejected, with nothing kept of it, and what is left is the caller's to read and drop.
 */
export function readMultipart(
  request: PartedRequest,
  contentType: string,
  limits: MultipartLimits,
  { fileFields, signal }: ReadMultipartOptions,
): Promise<MultipartBody> {
  return readParts(request, contentType, {
    gather: (bodyBytes) => createFormParts(limits, { fileFields, bodyBytes }),
    signal,
  });
}

type PartedRequest = Readable & { headers?: IncomingHttpHeaders };

/** The same for parts that are gathered in another way; `gather` is told how long the body is, without what closes it. */
export function readParts<T>(
  request: PartedRequest,
  contentType: string,
  {
    gather,
    signal,
  }: { gather: (bodyBytes: number | undefined) => Parts<T>; signal?: AbortSignal | undefined },
): Promise<T> {
  const open = (): Sink<T> => {
    const boundary = readBoundary(contentType);
    const length = request.headers?.['content-length'];
    const parts = gather(length === undefined ? undefined : Number(length) - closingBytes(boundary));
    const parser = createMultipartParser(boundary, parts.listener);
    return {
      write: parser.write,
      end() {
        parser.end();
        return parts.take();
      },
      drop: parts.drop,
    };
  };
  return readInto(request, open, { signal, brokenOff });
}

function brokenOff(cause?: Error) {
  return malformedMultipart('it breaks off', cause);
}

/** Of the last boundary, with the line ends that clients write around it. */
function closingBytes(boundary: string): number {
  return `\r\n--${boundary}--\r\n`.length;
}

/** Of at most 70 printable characters (RFC 2046, 5.1.1), whatever they say: `json` is a boundary like any other. */
const printable = /^[\x20-\x7e]{0,69}[\x21-\x7e]$/;

function readBoundary(contentType: string): string {
  const type = parseHeaderValue(contentType);
  const boundary = type?.value === 'multipart/form-data' ? type.parameters.get('boundary') : undefined;
  if (boundary === undefined || !printable.test(boundary)) {
    throw malformedMultipart('its Content-Type must have a boundary of 1 to 70 characters');
  }
  return boundary;
}

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

interface FormPartsOptions {
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
function createFormParts(
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

const maxNameBytes = 200;

/** The names of a form's parts, and what is wrong with them. */
interface PartNames {
  /** Each once. */
  problems: FieldProblem[];
  tell(field: string, problem: string): void;
  /** A part's name as text; undefined where it cannot be read, which is told. */
  read(bytes: string): string | undefined;
  /** The same of a name that may come once; undefined too where it has come already, which is told. */
  readOnce(bytes: string): string | undefined;
  /** Names that have come more often than they may. */
  twice: ReadonlySet<string>;
}

export function createPartNames(): PartNames {
  const problems: FieldProblem[] = [];
  const seen = new Set<string>();
  const twice = new Set<string>();

  function tell(field: string, problem: string): void {
    if (!problems.some((told) => told.field === field && told.problem === problem)) {
      problems.push({ field, problem });
    }
  }

  function read(bytes: string): string | undefined {
    const name = bytes.length > maxNameBytes ? undefined : decodeName(bytes);
    if (name !== undefined) return name;
    const isLong = bytes.length > maxNameBytes;
    tell(
      'body',
      isLong
        ? `must not have names of more than ${maxNameBytes} bytes`
        : 'must have names that are UTF-8 text',
    );
    return undefined;
  }

  return {
    problems,
    twice,
    tell,
    read,
    readOnce(bytes) {
      const name = read(bytes);
      if (name === undefined || !seen.has(name)) {
        if (name !== undefined) seen.add(name);
        return name;
      }
      tell(fieldName(name), 'must be given once, but is given more than once');
      twice.add(name);
      return undefined;
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
