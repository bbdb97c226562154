import { unknownType } from './file-type.js';
import { parseHeaderValue, token } from './header-parameters.js';
import { malformedMultipart } from './malformed-multipart.js';

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
export function parsePartHeader(lines: string): PartHeader {
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
