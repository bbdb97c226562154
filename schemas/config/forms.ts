import { resolve } from 'node:path';
import { tryUrl } from '../input/parse.js';
import { join } from '../quote.js';

/** A kind of value: how text becomes one, which are right, and the words for it. */
export interface Form<T> {
  /** Gives undefined for text that is not of this form. */
  read(text: string): T | undefined;
  /** Whether a value that was read is within the bounds. */
  fits(value: T): boolean;
  /** What is wanted, as messages end: `must be …`. */
  wanted: string;
}

/** A default that depends on the host. */
interface HostDefault<T> {
  /** What the README calls it. */
  shown: string;
  value(env: Readonly<Record<string, string | undefined>>): T;
}

/**
 * One environment variable. All that is said about it stands here alone: configuration, its type and schema, messages and
 * README are made from it.
 */
export interface Variable<T = unknown> {
  name: string;
  /** The heading of the README's table that it stands in. */
  section: string;
  form: Form<T>;
  /** As it would be written in the environment. The setting of a variable without one is optional. */
  default?: string | HostDefault<T>;
  description: string;
}

/** The variables of one section, by the names that their settings have in the configuration. */
export function section<const Named extends Readonly<Record<string, Omit<Variable, 'section'>>>>(
  title: string,
  variables: Named,
): { [Setting in keyof Named]: Named[Setting] & Pick<Variable, 'section'> } {
  const entries = Object.entries(variables).map(([setting, variable]) => [
    setting,
    { ...variable, section: title },
  ]);
  return Object.fromEntries(entries);
}

// Readers of what stands in an environment variable. Each gives undefined for text that is not of its form.

/** Digits, with a fraction or without. */
export function readNumber(text: string): number | undefined {
  return /^\d{1,15}(?:\.\d{1,6})?$/.test(text) ? Number(text) : undefined;
}

/** A reader of a number with a unit, by what a unit stands for; they are lower case. */
function readScaled(pattern: RegExp, factors: Readonly<Record<string, number>>) {
  return function readWithUnit(text: string): number | undefined {
    const [, digits, unit = ''] = pattern.exec(text) ?? [];
    return digits === undefined ? undefined : Math.round(Number(digits) * (factors[unit.toLowerCase()] ?? 1));
  };
}

/**
 * Bytes: `10485760`, `10MB`, `10 MiB`, `512KB`. Binary, as nginx, Docker and Node's body parsers read them: what any file manager shows
 * as 10 MB then fits in 10 MB.
 */
export const readBytes = readScaled(/^(\d{1,15}(?:\.\d{1,6})?) ?(?:(?:([KMG])i?)?B)?$/i, {
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
});
/** A count: `40000000` or `40M`; K, M and G are thousands, millions and billions. */
export const readCount = readScaled(/^(\d{1,15}(?:\.\d{1,6})?) ?([KMG])?$/i, { k: 1e3, m: 1e6, g: 1e9 });
/** Seconds: `90`, `90s`, `10m`, `24h`, `7d`. */
export const readSeconds = readScaled(/^(\d{1,9}) ?([smhd])?$/i, { s: 1, m: 60, h: 3600, d: 86_400 });

/** Texts between `,`; empty ones are left out. */
function readTexts(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
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
  // URL drops tabs and newlines and reads a backslash as a slash; an exemption must mean what it looks like.
  if (!/^https?:\/\/[^\s\\/?#@]+\/?$/i.test(text)) return undefined;
  return tryUrl(text)?.origin;
}

/** A connection address with one of these schemes that parses as a URL. */
export function readUrl(...schemes: string[]): (text: string) => string | undefined {
  return function readConnectionUrl(text) {
    return schemes.some((scheme) => text.startsWith(`${scheme}://`)) && tryUrl(text) ? text : undefined;
  };
}

interface Bounds {
  min: number;
  max: number;
}

interface IntegerOptions extends Bounds {
  /** What is counted, e.g. `milliseconds`. */
  of?: string;
  /** What a person should know of some value, e.g. `0 is no limit`. */
  note?: string;
}

function isWhole({ min, max }: Bounds): (value: number) => boolean {
  return (value) => Number.isInteger(value) && value >= min && value <= max;
}

/** A whole number in digits. */
export function integer({ min, max, of, note }: IntegerOptions): Form<number> {
  const counted = of === undefined ? '' : ` of ${of}`;
  const noted = note === undefined ? '' : `; ${note}`;
  return {
    read: readNumber,
    fits: isWhole({ min, max }),
    wanted: `a whole number${counted} from ${min} to ${max}${noted}`,
  };
}

/** A time. */
export function milliseconds(bounds: Bounds): Form<number> {
  return integer({ ...bounds, of: 'milliseconds' });
}

/** A whole number that may be written with K, M or G for thousands, millions and so on. */
export function count(options: IntegerOptions): Form<number> {
  return { ...integer(options), read: readCount };
}

/** Pixels, as a count. */
export function pixels({ min, max }: Bounds): Form<number> {
  return {
    ...count({ min, max }),
    wanted: `a number of pixels from ${min} to ${max}, such as 40000000 or 40M`,
  };
}

/** A time in whole seconds, which may be written with a unit. */
export function seconds({ min, max }: Bounds): Form<number> {
  return {
    ...integer({ min, max }),
    read: readSeconds,
    wanted: `a time from ${min} to ${max} seconds, such as 90, 90s, 10m, 24h or 7d`,
  };
}

/** A size of at least one byte, where no other least is given; its bound is said in gigabytes. */
export function bytes({ min = 1, max, such }: { min?: number; max: number; such: string }): Form<number> {
  return {
    read: readBytes,
    fits: isWhole({ min, max }),
    wanted: `a number of bytes, at most ${max / 1024 ** 3} GB, such as ${such}`,
  };
}

/** A part of the whole, which may be all of it but not nothing. */
export const share: Form<number> = {
  read: readNumber,
  fits: (value) => value > 0 && value <= 1,
  wanted: 'a number above 0, up to 1',
};

const mostCharacters = 4096;
const mostItems = 1000;
const isText = (value: string) => value !== '' && Array.from(value).length <= mostCharacters;
const isList = (values: readonly string[]) => values.length <= mostItems && values.every(isText);
const matches = (pattern: RegExp) => (value: string) => pattern.test(value);

/** Any text. */
export const anyText: Form<string> = {
  read: String,
  fits: isText,
  wanted: `a text of 1 to ${mostCharacters} characters`,
};

/** One folder. */
export const folder: Form<string> = { ...anyText, wanted: 'the path of a folder' };

/** What a server can listen on. */
export const host: Form<string> = {
  read: String,
  fits: matches(/^[A-Za-z0-9.:_-]{1,255}$/),
  wanted: 'an IP address or host name',
};

/** What can stand in a header as it is, and is too long to be guessed. */
export const token: Form<string> = {
  read: String,
  fits: matches(/^[\x21-\x7e]{16,1024}$/),
  wanted: 'at least 16 printable ASCII characters without spaces (openssl rand -hex 32)',
};

/** A key that a gateway has issued. */
export const issuedKey: Form<string> = {
  ...token,
  wanted: 'a key as a gateway has issued it (helper-gateway keys issue TENANT)',
};

/** What can stand in a header as it is. */
export const plainText: Form<string> = {
  read: String,
  fits: matches(/^[\x21-\x7e]{1,16384}$/),
  wanted: 'printable ASCII characters without spaces',
};

/** Secrets between commas, each too long to be guessed. */
export const tokens: Form<readonly string[]> = {
  read: readTexts,
  fits: (secrets) =>
    secrets.length >= 1 && secrets.length <= 10 && secrets.every(matches(/^[\x21-\x7e]{32,1024}$/)),
  wanted:
    '1 to 10 secrets separated by commas, each of at least 32 printable ASCII characters without spaces (openssl rand -hex 32)',
};

/** One of these names, in any case. */
export function choice<const Name extends string>(...names: readonly Name[]): Form<Name> {
  return {
    read: (written) => names.find((name) => name === written.toLowerCase()),
    fits: (name) => names.includes(name),
    wanted: join('or', names),
  };
}

/** A URL with one of these schemes. */
export function address(...schemes: string[]): Form<string> {
  return {
    read: readUrl(...schemes),
    fits: (url) => isText(url) && schemes.some((scheme) => matches(new RegExp(`^${scheme}://.`))(url)),
    wanted: `an address that begins with ${join(
      'or',
      schemes.map((scheme) => `${scheme}://`),
    )}`,
  };
}

/** The address of a whole web site: without a path. */
export const siteAddress: Form<string> = {
  ...address('http', 'https'),
  fits: (url) => isText(url) && matches(/^https?:\/\/[^/]+\/?$/)(url),
};

/** Paths between colons. */
export function paths(of: string): Form<readonly string[]> {
  return { read: readPaths, fits: isList, wanted: `${of} separated by colons` };
}

/**
 * Folders between colons, each once and as an absolute path: files are compared with them by their beginning, which `./x`, `x/`
 * and `a/../x` would not share. Links stay links, so that a reload follows one that points elsewhere by then.
 */
export const folders: Form<readonly string[]> = {
  ...paths('folders'),
  read: (text) => [...new Set(readPaths(text).map((path) => resolve(path)))],
};

/** Origins between commas, as `URL` writes them. */
export const origins: Form<readonly string[]> = {
  read: readOrigins,
  fits: isList,
  wanted: 'origins separated by commas, such as https://images.example:8443, without a path',
};

/** The same, or `*` alone. */
export const originsOrAll: Form<readonly string[]> = {
  read: readOriginsOrAll,
  fits: isList,
  wanted: `* or ${origins.wanted}`,
};
