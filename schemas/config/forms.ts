import { tryUrl } from '../try-url.js';

// Readers of what stands in an environment variable. Each gives undefined for text that is not of its form.

const number = /^\d{1,15}(?:\.\d{1,6})?$/;
const sized = /^(\d{1,15}(?:\.\d{1,6})?) ?(B|KB|MB|GB|KiB|MiB|GiB)?$/i;
const counted = /^(\d{1,15}(?:\.\d{1,6})?) ?([KMG])?$/i;
const timed = /^(\d{1,9}) ?([smhd])?$/i;

// Binary, as nginx, Docker and Node's body parsers read them: what any file manager shows as 10 MB then fits in 10 MB.
const bytesIn: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };
const thousands: Record<string, number> = { '': 1, k: 1e3, m: 1e6, g: 1e9 };
const secondsIn: Record<string, number> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

export function readText(text: string): string {
  return text;
}

/** Digits, with a fraction or without. */
export function readNumber(text: string): number | undefined {
  return number.test(text) ? Number(text) : undefined;
}

/** Bytes: `10485760`, `10MB`, `10 MiB`, `512KB`; a KB is 1024 bytes, a MB 1024 KB. */
export function readBytes(text: string): number | undefined {
  const match = sized.exec(text);
  return match
    ? scaled(match[1], bytesIn[(match[2] ?? '').charAt(0).toLowerCase().replace('b', '')])
    : undefined;
}

/** A count: `40000000` or `40M`; K, M and G are thousands, millions and billions. */
export function readCount(text: string): number | undefined {
  const match = counted.exec(text);
  return match ? scaled(match[1], thousands[(match[2] ?? '').toLowerCase()]) : undefined;
}

/** Seconds: `90`, `90s`, `10m`, `24h`, `7d`. */
export function readSeconds(text: string): number | undefined {
  const match = timed.exec(text);
  return match ? scaled(match[1], secondsIn[(match[2] ?? '').toLowerCase()]) : undefined;
}

/** Texts between `,`; empty ones are left out. */
export function readTexts(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function scaled(digits = '', factor = Number.NaN): number {
  return Math.round(Number(digits) * factor);
}

/** Paths between `:`; empty ones are left out. */
export function readPaths(text: string): string[] {
  return text.split(':').filter((path) => path !== '');
}

/** Origins between `,` as `URL` writes them, scheme http or https, without path, query, user or password. */
export function readOrigins(text: string): string[] | undefined {
  const origins = readTexts(text).map(readOrigin);
  return origins.every((origin) => origin !== undefined) ? [...new Set(origins)] : undefined;
}

/** The same, or `*` alone. */
export function readOriginsOrAll(text: string): string[] | undefined {
  return text.trim() === '*' ? ['*'] : readOrigins(text);
}

function readOrigin(text: string): string | undefined {
  // URL drops tabs and newlines and takes a backslash for a slash; an exemption must mean what it looks like.
  if (!/^https?:\/\/[^\s\\/?#@]+\/?$/i.test(text)) return undefined;
  return tryUrl(text)?.origin;
}

/** A connection address with one of these schemes that parses as a URL. */
export function readUrl(...schemes: string[]): (text: string) => string | undefined {
  return function readConnectionUrl(text) {
    return schemes.some((scheme) => text.startsWith(`${scheme}://`)) && tryUrl(text) ? text : undefined;
  };
}
