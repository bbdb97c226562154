import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { type FieldProblem, fieldName } from '../../schemas/field-problem.js';
import { GatewayError, inputError } from '../errors.js';
import { createGrowingBuffer, fileType, type GrowingBuffer, readInto } from './body.js';
import {
  createMultipartParser,
  malformedMultipart,
  type PartHeader,
  type PartListener,
  parseHeaderValue,
} from './multipart-parser.js';

type MultipartRequest = Readable & { headers?: IncomingHttpHeaders };

/**
 * Reads a multipart/form-data body into memory, bounded in every direction as its bytes come. A file outside
 * `fileFields` is counted and dropped. Rejects with `too_large`, `invalid_input` or `signal`'s reason.
 */
export function readMultipart(
  request: MultipartRequest,
  contentType: string,
  limits: MultipartLimits,
  { fileFields, signal }: { fileFields: readonly string[]; signal?: AbortSignal | undefined },
): Promise<MultipartBody> {
  const gather = (bodyBytes?: number) => createFormParts(limits, fileFields, bodyBytes);
  return readParts(request, contentType, gather, signal);
}

/** The same for parts that are gathered in another way; `gather` gets the length of the body without its closing boundary. */
export async function readParts<T>(
  request: MultipartRequest,
  contentType: string,
  gather: (bodyBytes?: number) => Parts<T>,
  signal?: AbortSignal,
): Promise<T> {
  const boundary = readBoundary(contentType);
  const length = request.headers?.['content-length'];
  const closingBytes = `\r\n--${boundary}--\r\n`.length;
  const { listener, take, drop } = gather(length === undefined ? undefined : Number(length) - closingBytes);
  const parser = createMultipartParser(boundary, listener);
  const end = () => {
    parser.end();
    return take();
  };
  const brokenOff = (cause?: Error) => malformedMultipart('it breaks off', cause);
  return readInto(request, { write: parser.write, end, drop }, { signal, brokenOff });
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

interface MultipartBody {
  /** The bytes of each text field that came once, each alone in its ArrayBuffer; UTF-8 is checked later. */
  fields: Map<string, Uint8Array<ArrayBuffer>>;
  /** Names given twice, files under other names, and unreadable names: each once. */
  problems: FieldProblem[];
  /** Whether a file came under another name, which is among the problems. */
  hasLostFile: boolean;
  files: Map<string, UploadedFile>;
}

export interface UploadedFile {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  name?: string;
}

/** Bytes of boundaries and headers, on top of what the parts may hold. */
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
/** A promised length is trusted up to this, and beyond once so much has come. */
const firstFileBytes = 1024 * 1024;

export interface Parts<T> {
  listener: PartListener;
  take(): T;
  /** Frees the bytes: an error keeps alive what its stack ran through until somebody reads it. */
  drop(): void;
}

function createFormParts(
  limits: MultipartLimits,
  fileFields: readonly string[],
  bodyBytes: number | undefined,
): Parts<MultipartBody> {
  const { maxFileBytes, maxTextBytes } = limits;
  const gathered = new Map<string, GrowingBuffer>();
  const names = createPartNames();
  const { problems, report } = names;
  const received = { fields: 0, files: 0, text: 0, file: 0, framing: 0 };
  const files = new Map<string, { header: PartHeader; into: GrowingBuffer }>();
  let hasLostFile = false;
  let kind: 'text' | 'file' = 'text';
  let into: GrowingBuffer | undefined;

  const count = (kind: 'text' | 'file' | 'framing', bytes: number, max: number) => {
    received[kind] += bytes;
    if (received[kind] > max) throw uploadTooLarge(limits);
  };

  function startFile(header: PartHeader): GrowingBuffer | undefined {
    received.files += 1;
    const name = names.readOnce(header.name);
    if (name !== undefined && !fileFields.includes(name)) {
      hasLostFile = true;
      report(fieldName(name), notAFile(fileFields));
    }
    // One of them has a problem already.
    if (received.files > fileFields.length + 1) throw inputError(problems);
    if (name === undefined || !fileFields.includes(name)) return undefined;
    const into = createGrowingBuffer(maxFileBytes, bytesLeft(), firstFileBytes);
    files.set(name, { header, into });
    return into;
  }

  /** The length of the file if it comes last: then nothing has to be copied. */
  function bytesLeft(): number | undefined {
    const left = bodyBytes && bodyBytes - received.framing - received.text - received.file;
    return left && left > 0 ? left : undefined;
  }

  function startText(header: PartHeader): GrowingBuffer | undefined {
    received.fields += 1;
    if (received.fields > maxFields) {
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
        kind = header.file ? 'file' : 'text';
        into = header.file ? startFile(header) : startText(header);
      },
      onContent(bytes) {
        count(kind, bytes.length, kind === 'file' ? maxFileBytes : maxTextBytes);
        into?.add(bytes);
      },
      onFraming: (bytes) => count('framing', bytes, maxFramingBytes),
    },
    take() {
      for (const name of names.twice) gathered.delete(name);
      const fields = new Map([...gathered].map(([name, value]) => [name, value.bytes()]));
      const uploads = new Map<string, UploadedFile>();
      for (const [field, { header, into }] of files) {
        const { type, fileName } = header;
        const bytes = into.bytes();
        // A form that was sent with its file field untouched: browsers send an empty file without a name.
        if (bytes.length === 0 && fileName === '') continue;
        uploads.set(field, { bytes, type: fileType(type, fileName), ...(fileName && { name: fileName }) });
      }
      return { fields, problems, hasLostFile, files: uploads };
    },
    drop() {
      gathered.clear();
      files.clear();
      into = undefined;
    },
  };
}

function notAFile(fileFields: readonly string[]): string {
  if (fileFields.length === 0) return 'is not taken by this helper, which works without a file';
  const called = fileFields.length === 1 ? 'field is' : 'fields are';
  return `must not be a file; the file ${called} called ${fileFields.join(', ')}`;
}

const maxNameBytes = 200;

export function createPartNames() {
  const problems: FieldProblem[] = [];
  const seen = new Set<string>();
  const twice = new Set<string>();

  function report(field: string, problem: string): void {
    if (!problems.some((known) => known.field === field && known.problem === problem)) {
      problems.push({ field, problem });
    }
  }

  /** A part's name as text; undefined, with a problem, where it cannot be read. */
  function read(bytes: string): string | undefined {
    if (bytes.length > maxNameBytes) {
      report('body', `must not have names of more than ${maxNameBytes} bytes`);
      return undefined;
    }
    try {
      return utf8.decode(Buffer.from(bytes, 'latin1'));
    } catch {
      report('body', 'must have names that are UTF-8 text');
      return undefined;
    }
  }

  /** The same for a name that may come once. */
  function readOnce(bytes: string): string | undefined {
    const name = read(bytes);
    if (name === undefined || !seen.has(name)) {
      if (name !== undefined) seen.add(name);
      return name;
    }
    report(fieldName(name), 'must be given once, but is given more than once');
    twice.add(name);
    return undefined;
  }

  return { problems, report, read, readOnce, twice };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
