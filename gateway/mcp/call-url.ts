/** Characters of a url that every client and proxy takes. */
const longest = 8000;
/** Characters of JSON that may come to one as short, each of six characters as `\u0061` is. */
const longestInput = longest * 6;

/**
 * The address at which a GET gives the same answer as a tool's call with this JSON, without the key; undefined where the call does
 * not fit into one. Lists and objects are written as JSON, which a query may hold.
 */
export function callUrl(base: string, service: string, input: string): string | undefined {
  if (input.length > longestInput) return undefined;
  const url = new URL(`/${service}`, base);
  for (const [name, value] of Object.entries(JSON.parse(input) as object)) {
    url.searchParams.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return url.href.length <= longest ? url.href : undefined;
}
