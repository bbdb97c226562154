import { malformedMultipart } from './malformed-multipart.js';
import { type PartHeader, parsePartHeader } from './part-header.js';

/** Told of a body's parts in their order; whatever it throws ends the parsing. */
export interface PartListener {
  onPart(header: PartHeader): void;
  /** Bytes of the part's content, valid for the length of the call only. */
  onContent(bytes: Uint8Array): void;
  /** Bytes that belong to no part's content: headers, boundaries, what stands before the first and after the last. */
  onFraming(bytes: number): void;
}

export interface MultipartParser {
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
