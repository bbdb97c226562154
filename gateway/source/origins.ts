import { tryUrl } from '../../schemas/try-url.js';

/** Origins that the operator exempts from the guard, each `scheme://host[:port]` as `URL.origin` writes it. */
export type ExemptOrigins = ReadonlySet<string>;

/**
 * Reads the operator's list of exempt origins. An entry names exactly one scheme, host and port, e.g.
 * `http://127.0.0.1:9100`; a path, a user name, a wildcard or a scheme other than http and https throws, because a
 * rule that means more than its author thinks is a hole. The error gives the entry's place in the list, never its text.
 */
export function parseExemptOrigins(list: readonly string[]): ExemptOrigins {
  return new Set(
    list.map((entry, index) => {
      const url = tryUrl(entry);
      const exact = url && /^https?:$/.test(url.protocol) && !url.hostname.includes('*');
      if (!exact || entry.toLowerCase().replace(/\/$/, '') !== withDefaultPort(entry, url)) {
        throw new Error(
          `exempt origin ${index + 1} is not of the form scheme://host or scheme://host:port, e.g. http://127.0.0.1:9100`,
        );
      }
      return url.origin;
    }),
  );
}

/** The parser drops `:443` of https and `:80` of http; an entry may spell them out. */
function withDefaultPort(entry: string, url: URL): string {
  const port = url.protocol === 'https:' ? ':443' : ':80';
  return url.port === '' && entry.replace(/\/$/, '').endsWith(port) ? `${url.origin}${port}` : url.origin;
}
