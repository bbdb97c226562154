import type { IncomingHttpHeaders } from 'undici/types/header.js';
import type { Validators } from './cache-policy.js';
import { sourceFailed, sourceTooLarge } from './failure.js';

/**
 * What to do after a response's head: read a body (`length` in bytes if it was announced), go elsewhere, or take the head for
 * the whole answer.
 */
export type HeadVerdict =
  | { read: true; length: number | undefined }
  | { read: false; location: string | undefined };

const redirects = new Set([301, 302, 303, 307, 308]);

/** What is taken of answers. */
export interface Wanted {
  /** Bytes of a body at most. */
  maxBytes: number;
  /** Whether an answer of any status is taken, and one without a body; else only a file is, which comes with 200. */
  anyStatus?: boolean | undefined;
  /** Whether the head is all that is taken, of whatever status; else a redirect is gone after and a body read. */
  headOnly?: boolean | undefined;
  /** Asks whether something still holds: only then does a 304 say anything. */
  validators?: Validators | undefined;
}

/** Judges status and headers of a final response. Pure; throws a `GatewayError` for what is not taken. */
export function judgeHead(
  status: number,
  headers: IncomingHttpHeaders,
  { maxBytes, anyStatus = false, headOnly = false, validators }: Wanted,
): HeadVerdict {
  if (headOnly) return { read: false, location: undefined };
  if (redirects.has(status)) return { read: false, location: locationOf(status, headers) };
  if (status === 304 && validators) return { read: false, location: undefined };
  if (status !== 200 && !anyStatus) throw sourceFailed(`The server behind the url answered ${status}.`);
  const encoded = codings(headers['content-encoding']).filter((coding) => coding !== 'identity');
  const transferred = codings(headers['transfer-encoding']).filter((coding) => coding !== 'chunked');
  // Not decoded here, ever: a few kilobytes may hold gigabytes.
  if (encoded.length > 0 || transferred.length > 0) {
    throw sourceFailed('The server behind the url sent its answer compressed, although asked not to.');
  }
  const length = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  if (length !== undefined && !(length <= maxBytes)) throw sourceTooLarge(maxBytes);
  if (length === 0 && !anyStatus) throw sourceFailed('The server behind the url sent an empty file.');
  return { read: true, length };
}

function locationOf(status: number, headers: IncomingHttpHeaders): string {
  const { location } = headers;
  if (typeof location !== 'string' || location === '') {
    throw sourceFailed(`The server behind the url answered ${status} without saying where to go.`);
  }
  // Header bytes arrive as Latin-1; what servers put there unescaped is UTF-8.
  return Buffer.from(location, 'latin1').toString('utf8');
}

function codings(value: string | string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
}
