import { type GatewayError, inputError } from '../errors.js';
import { unknownType } from './body.js';

/** Receives a body's parts in order; an error that it throws ends the parsing. */
export interface PartListener {
  onPart(header: PartHeader): void;
  /** Bytes of the part's content, valid during the call only. */
  onContent(bytes: Uint8Array): void;
  /** The number of bytes outside of contents: headers, boundaries, preamble and epilogue. */
  onFraming(bytes: number): void;
}

const maxHeaderBytes = 8 * 1024;
/** A body with another boundary is all preamble. */
const maxPreambleBytes = 64 * 1024;
const headerEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const nothing = Buffer.alloc(0);
const dashes = '--';

/**
 * Splits multipart/form-data (RFC 7578) in linear time, holding at most the start of a boundary and one part's header.
 * Own code because no parser that was tried withstands what its tests send.
 */
export function createMultipartParser(boundary: string, listener: PartListener) {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // A boundary is followed by padding and a line end, header lines and an empty line; or by two dashes, which end the body.
  const header = Buffer.allocUnsafe(maxHeaderBytes + headerEnd.length);
  let headerLength = 0;
  let preambleLength = 0;
  let state: 'preamble' | 'header' | 'content' | 'epilogue' = 'preamble';
  // No line end stands before the first boundary.
  let held = lineEnd;

  /** Reads from `at` up to the next boundary, or to where one may begin; returns where to go on. */
  function readContent(data: Buffer, at: number): number {
    const found = data.indexOf(delimiter, at);
    const end = found < 0 ? startOfDelimiter(data, at) : found;
    if (state === 'preamble') skipPreamble(end - at);
    else if (end > at) listener.onContent(data.subarray(at, end));
    if (found < 0) {
      // A copy: the chunk's memory is not this parser's to keep.
      held = Buffer.from(data.subarray(end));
      return data.length;
    }
    return startPart(found);
  }

  function skipPreamble(bytes: number): void {
    preambleLength += bytes;
    if (preambleLength > maxPreambleBytes) throw noPart();
  }

  /** Skips the delimiter that begins at `found`; the line end before the first is not of the body. */
  function startPart(found: number): number {
    listener.onFraming(delimiter.length + (state === 'preamble' ? preambleLength - lineEnd.length : 0));
    state = 'header';
    headerLength = 0;
    return found + delimiter.length;
  }

  /** Whether the body starts with its boundary, as most do: nothing has to be joined. */
  function startsAtOnce(data: Buffer): boolean {
    const rest = delimiter.length - lineEnd.length;
    return (
      held.equals(lineEnd) && data.length >= rest && delimiter.compare(data, 0, rest, lineEnd.length) === 0
    );
  }

  /** Where a delimiter may begin that the next chunk completes: at the last carriage return (it has one) or nowhere. */
  function startOfDelimiter(data: Buffer, from: number): number {
    const tail = data.subarray(Math.max(from, data.length - delimiter.length + 1));
    const start = tail.subarray(Math.max(0, tail.lastIndexOf(0x0d)));
    return start.equals(delimiter.subarray(0, start.length)) ? data.length - start.length : data.length;
  }

  function readHeader(data: Buffer, at: number): number {
    const before = headerLength;
    headerLength += data.copy(header, headerLength, at);
    if (headerLength >= dashes.length && header.toString('latin1', 0, dashes.length) === dashes) {
      state = 'epilogue';
      return at;
    }
    const seen = header.subarray(0, headerLength);
    const found = seen.indexOf(headerEnd, Math.max(0, before - headerEnd.length + 1));
    if (found < 0 && headerLength === header.length) {
      throw malformedMultipart(`a part's header is longer than ${maxHeaderBytes} bytes`);
    }
    const read = (found < 0 ? headerLength : found + headerEnd.length) - before;
    listener.onFraming(read);
    if (found >= 0) {
      const lines = seen.toString('latin1', 0, found + 2);
      const padding = /^[\t ]*\r\n/.exec(lines)?.[0];
      if (padding === undefined) throw malformedMultipart('a boundary is not alone in its line');
      listener.onPart(parsePartHeader(lines.slice(padding.length)));
      state = 'content';
    }
    return at + read;
  }

  return {
    /** Throws `invalid_input`, or what the listener throws; nothing may be written after that. */
    write(chunk: Uint8Array): void {
      let data = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let at = 0;
      if (state === 'preamble' && startsAtOnce(data)) at = startPart(-lineEnd.length);
      else if (held.length > 0) data = Buffer.concat([held, data]);
      held = nothing;
      while (at < data.length && state !== 'epilogue') {
        at = state === 'header' ? readHeader(data, at) : readContent(data, at);
      }
      if (at < data.length) listener.onFraming(data.length - at);
    },
    /** Throws `invalid_input` where the closing boundary has not come. */
    end(): void {
      if (state === 'preamble') throw noPart();
      if (state !== 'epilogue') throw malformedMultipart('it breaks off before its closing boundary');
    },
  };
}

function noPart() {
  return malformedMultipart(
    'no part was found in it: a part begins with a line of two dashes and the boundary that the Content-Type names',
  );
}

export interface PartHeader {
  /** The field's name as its bytes, one character each, with the escapes of browsers undone. */
  name: string;
  /** Whether it has a filename, or the type of unknown bytes: files are sent both ways. */
  file: boolean;
  type: string;
  /** Of a file: its name without the folders that some clients send; empty where no file was chosen. */
  fileName?: string | undefined;
}

/** Reads a part's header lines, one character a byte; ignores all but two, above all `Content-Transfer-Encoding`. */
function parsePartHeader(lines: string): PartHeader {
  const headers = readLines(lines);
  const disposition = parseHeaderValue(headers.get('content-disposition') ?? '');
  const name = disposition?.value === 'form-data' ? disposition.parameters.get('name') : undefined;
  if (disposition === undefined || name === undefined) {
    throw malformedMultipart('a part has no readable Content-Disposition: form-data with a name');
  }
  const { parameters } = disposition;
  const type = parseHeaderValue(headers.get('content-type') ?? '')?.value;
  const file = parameters.has('filename') || parameters.has('filename*') || type === unknownType;
  return {
    name: unescapeName(name),
    file,
    type: type || unknownType,
    fileName: fileNameOf(parameters.get('filename')),
  };
}

/** Browsers percent-encode quotes and line ends of a name. */
function unescapeName(name: string): string {
  return name.replace(/%(22|0a|0d)/gi, (escaped) => decodeURIComponent(escaped));
}

function fileNameOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const text = Buffer.from(unescapeName(given), 'latin1').toString('utf8');
  return text.slice(Math.max(text.lastIndexOf('/'), text.lastIndexOf('\\')) + 1).slice(0, 255);
}

const folded = /\r\n[\t ]+/g;

function readLines(lines: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines.replace(folded, ' ').split('\r\n').slice(0, -1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!token.test(name) || /[\r\n]/.test(line)) throw malformedMultipart('a part has a malformed header');
    // With two, two readers of the same bytes can be led to disagree.
    if (headers.has(name)) throw malformedMultipart('a part has a header twice');
    headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

/**
 * Reads a header's value such as `form-data; name="a"` in linear time: what stands before the first `;`, and the first
 * parameter of each name, in lower case; undefined where it is malformed. A quote inside a quoted value comes as `\"`
 * (RFC 9110, old curl) or as `%22`, with backslashes that mean themselves (browsers). So `\"` is a quote unless the
 * rest makes sense only without that; packages for these headers know the first way alone.
 */
export function parseHeaderValue(
  text: string,
): { value: string; parameters: Map<string, string> } | undefined {
  const end = text.indexOf(';');
  const value = (end < 0 ? text : text.slice(0, end)).trim().toLowerCase();
  if (end < 0) return { value, parameters: new Map() };
  const parameters = readParameters(text, end, true) ?? readParameters(text, end, false);
  return parameters && { value, parameters };
}

/** The characters of a header's or parameter's name (RFC 9110, 5.6.2). */
const tokenCharacters = "[\\w!#$%&'*+.^`|~-]+";
const token = new RegExp(`^${tokenCharacters}$`);

/** A semicolon with its parameter, which may be missing at the end and between two semicolons. */
const parameterWith = (quoted: string) =>
  new RegExp(`;[\\t ]*(?:(${tokenCharacters})=(?:"(${quoted})"|(?!")([^;\\t ]*))[\\t ]*)?`, 'y');
const escapedParameter = parameterWith('(?:[^"\\\\]|\\\\[^])*');
const plainParameter = parameterWith('[^"]*');

function readParameters(text: string, from: number, escapes: boolean): Map<string, string> | undefined {
  const parameters = new Map<string, string>();
  const pattern = escapes ? escapedParameter : plainParameter;
  pattern.lastIndex = from;
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) return undefined;
    const [, name, quoted, plain = ''] = found;
    if (name === undefined || parameters.has(name.toLowerCase())) continue;
    const raw = quoted ?? plain;
    parameters.set(name.toLowerCase(), escapes ? raw.replaceAll('\\"', '"') : raw);
  }
  return parameters;
}

/** The error for malformed multipart/form-data; `what` ends its sentence and is shown to the client. */
export function malformedMultipart(what: string, cause?: unknown): GatewayError {
  const problem = `must be complete and well-formed multipart/form-data; ${what}`;
  return inputError([{ field: 'body', problem }], cause);
}
