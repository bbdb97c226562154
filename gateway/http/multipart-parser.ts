import { type GatewayError, inputError } from '../errors.js';
import { unknownType } from './file-type.js';

/** Told of a body's parts in their order; whatever it throws ends the parsing. */
export interface PartListener {
  onPart(header: PartHeader): void;
  /** Bytes of the part's content, valid for the length of the call only. */
  onContent(bytes: Uint8Array): void;
  /** Bytes that belong to no part's content: headers, boundaries, what stands before the first and after the last. */
  onFraming(bytes: number): void;
}

interface MultipartParser {
  /** Throws `invalid_input`, or what the listener throws; nothing may be written after that. */
  write(chunk: Uint8Array): void;
  /** Throws `invalid_input` where the closing boundary has not come. */
  end(): void;
}

const maxHeaderBytes = 8 * 1024;
/** What may stand before the first boundary; a body whose boundary is another one has nothing else. */
const maxPreambleBytes = 64 * 1024;
const headerEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');
const nothing = Buffer.alloc(0);
const dashes = '--';

/**
 * Splits multipart/form-data (RFC 7578) as its bytes come, in time linear in their number whatever they are: it holds back at
 * most the start of a boundary, and one part's header. It calls, throws, and has no events that anybody could forget to listen
 * to. Own code because no parser that was tried holds: see the tests beside it for what they are to withstand.
 */
export function createMultipartParser(boundary: string, listener: PartListener): MultipartParser {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // What follows a boundary: padding and a line end, header lines, an empty line; or two dashes, which end the body.
  const header = Buffer.allocUnsafe(maxHeaderBytes + headerEnd.length);
  let headerLength = 0;
  let preambleLength = 0;
  let state: 'preamble' | 'header' | 'content' | 'epilogue' = 'preamble';
  // The first boundary begins the body, without a line end before it.
  let held = lineEnd;

  /** Bytes from `at` up to the next boundary, or to where one may begin; gives where to go on. */
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

  /** Goes past the delimiter that begins at `found`; the line end before the first is not of the body. */
  function startPart(found: number): number {
    listener.onFraming(delimiter.length + (state === 'preamble' ? preambleLength - lineEnd.length : 0));
    state = 'header';
    headerLength = 0;
    return found + delimiter.length;
  }

  /** Whether the boundary follows the line end that is held, as in the first chunk of most bodies: nothing has to be joined. */
  function startsAtOnce(data: Buffer): boolean {
    const rest = delimiter.length - lineEnd.length;
    return (
      held.equals(lineEnd) && data.length >= rest && delimiter.compare(data, 0, rest, lineEnd.length) === 0
    );
  }

  /** Where the bytes may end in a part of a delimiter: it has only one carriage return, so at the last one or nowhere. */
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
    write(chunk) {
      let data = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let at = 0;
      if (state === 'preamble' && startsAtOnce(data)) {
        at = startPart(-lineEnd.length);
      } else if (held.length > 0) {
        data = Buffer.concat([held, data]);
      }
      held = nothing;
      while (at < data.length && state !== 'epilogue') {
        at = state === 'header' ? readHeader(data, at) : readContent(data, at);
      }
      if (at < data.length) listener.onFraming(data.length - at);
    },
    end() {
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

/** What a part of a form says of itself. */
export interface PartHeader {
  /** The field's name as its bytes, one character each, with the escapes of browsers undone. */
  name: string;
  /** It has a filename, or bytes of no type for its type: both are how files are sent. */
  file: boolean;
  /** Of a file: the media type that the client gives it. */
  type: string;
  /** Of a file: its name on the client's disk, without the folders that some clients send. Empty where none was chosen. */
  fileName?: string | undefined;
}

/**
 * Reads the header lines of a part, one character a byte and each with its line end. All but two headers mean nothing here:
 * above all `Content-Transfer-Encoding`, which RFC 7578 took out of forms and no browser sends, is not obeyed. Throws
 * `invalid_input`. Own code as the parser around it is.
 */
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

/** Browsers write quotes and line ends of a name so. */
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
    // Two answers to one question are how two readers of the same bytes are led to disagree.
    if (headers.has(name)) throw malformedMultipart('a part has a header twice');
    headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

/** A header's value as `form-data; name="a"` is read: what stands before the first `;` in lower case, and the parameters. */
interface HeaderValue {
  value: string;
  /** By name in lower case, the first of each. */
  parameters: Map<string, string>;
}

/**
 * Reads a header's value with parameters, in time linear in its length; undefined for what is malformed. A quote inside a quoted
 * value comes in two ways: as `\"` (RFC 9110, old curl), or as `%22` with backslashes that mean themselves (browsers). So
 * `\"` is taken for a quote, unless the rest makes sense only where the backslash is the last character of the value. Own code
 * because packages for these headers know the first way alone.
 */
export function parseHeaderValue(text: string): HeaderValue | undefined {
  const end = text.indexOf(';');
  const value = (end < 0 ? text : text.slice(0, end)).trim().toLowerCase();
  if (end < 0) return { value, parameters: new Map() };
  const parameters = readParameters(text, end, true) ?? readParameters(text, end, false);
  return parameters && { value, parameters };
}

function readParameters(text: string, from: number, escapes: boolean): Map<string, string> | undefined {
  const parameters = new Map<string, string>();
  let at = from;
  while (at < text.length) {
    if (text[at] !== ';') return undefined;
    at = skipSpace(text, at + 1);
    // A semicolon at the end, or two in a row, separate nothing.
    if (at === text.length || text[at] === ';') continue;
    const equals = text.indexOf('=', at);
    if (equals < 0) return undefined;
    const name = text.slice(at, equals).toLowerCase();
    if (!token.test(name)) return undefined;
    const quoted = text[equals + 1] === '"';
    const end = quoted ? closingQuote(text, equals + 2, escapes) : endOfPlain(text, equals + 1);
    if (end < 0) return undefined;
    const raw = text.slice(equals + (quoted ? 2 : 1), end);
    if (!parameters.has(name)) parameters.set(name, escapes ? raw.replaceAll('\\"', '"') : raw);
    at = skipSpace(text, quoted ? end + 1 : end);
  }
  return parameters;
}

/** A token's characters (RFC 9110, 5.6.2), which is what a header's and a parameter's name are made of. */
const token = /^[\w!#$%&'*+.^`|~-]+$/;

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  return at;
}

function endOfPlain(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ';' && text[at] !== ' ' && text[at] !== '\t') at += 1;
  return at;
}

function closingQuote(text: string, from: number, escapes: boolean): number {
  if (!escapes) return text.indexOf('"', from);
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at < text.length ? at : -1;
}

/** The error for bytes that are no multipart/form-data; `what` continues its sentence and is shown to the client. */
export function malformedMultipart(what: string, cause?: unknown): GatewayError {
  const problem = `must be complete and well-formed multipart/form-data; ${what}`;
  return inputError([{ field: 'body', problem }], cause);
}
