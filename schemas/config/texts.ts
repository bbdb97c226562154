import { resolve } from 'node:path';
import { join } from '../quote.js';
import { readOrigins, readOriginsOrAll, readPaths, readText, readTexts, readUrl } from './forms.js';
import type { Form } from './variable.js';

const mostCharacters = 4096;
const mostItems = 1000;
const isText = (value: string) => value !== '' && Array.from(value).length <= mostCharacters;
const isList = (values: readonly string[]) => values.length <= mostItems && values.every(isText);
const matches = (pattern: RegExp) => (value: string) => pattern.test(value);

/** Any text. */
export const anyText: Form<string> = {
  read: readText,
  fits: isText,
  wanted: `a text of 1 to ${mostCharacters} characters`,
};

/** One folder. */
export const folder: Form<string> = { ...anyText, wanted: 'the path of a folder' };

/** What a server can listen on. */
export const host: Form<string> = {
  read: readText,
  fits: matches(/^[A-Za-z0-9.:_-]{1,255}$/),
  wanted: 'an IP address or host name',
};

/** What can stand in a header as it is, and is too long to be guessed. */
export const token: Form<string> = {
  read: readText,
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
  read: readText,
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
