/**
 * The url that a text is, against `base` where it is relative; undefined where it is none. It stands in place of `URL.canParse`, which on
 * Node 20 refuses each url with a letter such as ü once it has been called some thousands of times and V8 has optimised the caller.
 */
export function tryUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
