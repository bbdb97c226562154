import { resolve } from 'node:path';
import { tryUrl } from '../input/parse.js';
import { join } from '../quote.js';

/** A kind of value: how text becomes one, and the words for it. */
export interface Form<T> {
  /** Gives undefined for text that is not of this form, or outside of its bounds. */
  read(text: string): T | undefined;
  /** What is wanted, as messages end: `must be …`. */
  wanted: string;
}

interface Bounds {
  min: number;
  max: number;
}

/** A reader of a number with a unit, by what a unit stands for; they are lower case. */
function readScaled(pattern: RegExp, factors: Readonly<Record<string, number>>) {
  return function readWithUnit(text: string): number | undefined {
    const [, digits, unit = ''] = pattern.exec(text) ?? [];
    return digits === undefined ? undefined : Math.round(Number(digits) * (factors[unit.toLowerCase()] ?? 1));
  };
}

/** Digits, with a fraction or without. */
function readNumber(text: string): number | undefined {
  return /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : undefined;
}

/**
 * Bytes: `10485760`, `10MB`, `10 MiB`, `512KB`. Binary, as nginx, Docker and Node's body parsers read them: what any file manager shows
 * as 10 MB then fits in 10 MB.
 */
const readBytes = readScaled(/^(\d{1,15}(?:\.\d{1,6})?) ?(?:(?:([KMG])i?)?B)?$/i, {
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
});
/** A count: `40000000` or `40M`; K, M and G are thousands, millions and billions. */
const readCount = readScaled(/^(\d{1,15}(?:\.\d{1,6})?) ?([KMG])?$/i, { k: 1e3, m: 1e6, g: 1e9 });
/** Seconds: `90`, `90s`, `10m`, `24h`, `7d`. */
export const readSeconds = readScaled(/^(\d{1,9}) ?([smhd])?$/i, { s: 1, m: 60, h: 3600, d: 86_400 });

function whole({ min, max }: Bounds, wanted: string, readAny = readNumber): Form<number> {
  return {
    wanted,
    read(text) {
      const value = readAny(text) ?? Number.NaN;
      return Number.isInteger(value) && value >= min && value <= max ? value : undefined;
    },
  };
}

/** A whole number in digits; `note` is what a person should know of some value, such as `0 is no limit`. */
export function integer({ min, max, note }: Bounds & { note?: string }): Form<number> {
  return whole({ min, max }, `a whole number from ${min} to ${max}${note === undefined ? '' : `; ${note}`}`);
}

export function milliseconds({ min, max }: Bounds): Form<number> {
  return whole({ min, max }, `a whole number of milliseconds from ${min} to ${max}`);
}

/** A whole number that may be written with K, M or G for thousands, millions and so on. */
export function count({ min, max }: Bounds): Form<number> {
  return whole({ min, max }, `a whole number from ${min} to ${max}`, readCount);
}

/** Pixels, as a count. */
export function pixels({ min, max }: Bounds): Form<number> {
  return whole({ min, max }, `a number of pixels from ${min} to ${max}, such as 40000000 or 40M`, readCount);
}

/** A time in whole seconds, which may be written with a unit. */
export function seconds({ min, max }: Bounds): Form<number> {
  const wanted = `a time from ${min} to ${max} seconds, such as 90, 90s, 10m, 24h or 7d`;
  return whole({ min, max }, wanted, readSeconds);
}

/** A size of at least one byte, where no other least is given; its bound is said in gigabytes. */
export function bytes({ min = 1, max, such }: { min?: number; max: number; such: string }): Form<number> {
  return whole({ min, max }, `a number of bytes, at most ${max / 1024 ** 3} GB, such as ${such}`, readBytes);
}

/** A part of the whole, which may be all of it but not nothing. */
export const share: Form<number> = {
  read(text) {
    const value = readNumber(text);
    return value !== undefined && value > 0 && value <= 1 ? value : undefined;
  },
  wanted: 'a number above 0, up to 1',
};

const mostCharacters = 4096;
const mostItems = 1000;
const isText = (value: string) => value !== '' && Array.from(value).length <= mostCharacters;

function text(fits: (text: string) => boolean, wanted: string): Form<string> {
  return { read: (given) => (fits(given) ? given : undefined), wanted };
}

function matching(pattern: RegExp, wanted: string): Form<string> {
  return text((given) => pattern.test(given), wanted);
}

/** Any text. */
export const anyText = text(isText, `a text of 1 to ${mostCharacters} characters`);

/** One folder. */
export const folder = text(isText, 'the path of a folder');

/** What a server can listen on. */
export const host = matching(/^[A-Za-z0-9.:_-]{1,255}$/, 'an IP address or host name');

const ascii = 'printable ASCII characters without spaces';
const byOpenssl = '(openssl rand -hex 32)';
const tokenPattern = /^[\x21-\x7e]{16,1024}$/;

/** What can stand in a header as it is, and is too long to be guessed. */
export const token = matching(tokenPattern, `at least 16 ${ascii} ${byOpenssl}`);

/** A key that a gateway has issued. */
export const issuedKey = matching(
  tokenPattern,
  'a key as a gateway has issued it (helper-gateway keys issue TENANT)',
);

/** What can stand in a header as it is. */
export const plainText = matching(/^[\x21-\x7e]{1,16384}$/, ascii);

/** One of these names, in any case. */
export function choice<const Name extends string>(...names: readonly Name[]): Form<Name> {
  return {
    read: (written) => names.find((name) => name === written.toLowerCase()),
    wanted: join('or', names),
  };
}

/** A connection address with one of these schemes that parses as a URL. */
export function address(...schemes: string[]): Form<string> {
  const begins = schemes.map((scheme) => `${scheme}://`);
  return text(
    (url) =>
      begins.some((begin) => url.startsWith(begin) && url !== begin) &&
      isText(url) &&
      tryUrl(url) !== undefined,
    `an address that begins with ${join('or', begins)}`,
  );
}

/** The address of something on the web. */
export const web = address('http', 'https');

/** The address of a whole web site: without a path. */
export const siteAddress: Form<string> = {
  ...web,
  read: (url) => (/^https?:\/\/[^/]+\/?$/.test(url) ? web.read(url) : undefined),
};

/** At most 1000 texts, none of them empty or too long. */
function list(readAny: (text: string) => string[] | undefined, wanted: string): Form<readonly string[]> {
  return {
    wanted,
    read(text) {
      const values = readAny(text);
      return values && values.length <= mostItems && values.every(isText) ? values : undefined;
    },
  };
}

/** Texts between `,`; empty ones are left out. */
function readTexts(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Secrets between commas, each too long to be guessed. */
export const tokens = list((text) => {
  const secrets = readTexts(text);
  const fit = secrets.every((secret) => /^[\x21-\x7e]{32,1024}$/.test(secret));
  return fit && secrets.length >= 1 && secrets.length <= 10 ? secrets : undefined;
}, `1 to 10 secrets separated by commas, each of at least 32 ${ascii} ${byOpenssl}`);

function readPaths(text: string): string[] {
  return text.split(':').filter((path) => path !== '');
}

/** Paths between colons; empty ones are left out. */
export function paths(of: string): Form<readonly string[]> {
  return list(readPaths, `${of} separated by colons`);
}

/**
 * Folders between colons, each once and as an absolute path: files are compared with them by their beginning, which `./x`, `x/`
 * and `a/../x` would not share. Links stay links, so that a reload follows one that points elsewhere by then.
 */
export const folders = list(
  (text) => [...new Set(readPaths(text).map((path) => resolve(path)))],
  'folders separated by colons',
);

function readOrigin(text: string): string | undefined {
  // URL drops tabs and newlines and reads a backslash as a slash; an exemption must mean what it looks like.
  if (!/^https?:\/\/[^\s\\/?#@]+\/?$/i.test(text)) return undefined;
  return tryUrl(text)?.origin;
}

/** Origins between commas as `URL` writes them, scheme http or https, without path, query, user or password. */
export const origins = list((text) => {
  const found = readTexts(text).map(readOrigin);
  return found.every((origin) => origin !== undefined) ? [...new Set(found)] : undefined;
}, 'origins separated by commas, such as https://images.example:8443, without a path');

/** The same, or `*` alone. */
export const originsOrAll: Form<readonly string[]> = {
  read: (text) => (text.trim() === '*' ? ['*'] : origins.read(text)),
  wanted: `* or ${origins.wanted}`,
};
