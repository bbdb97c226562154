/** Characters of a url that every client and proxy takes. */
const longest = 8000;

/**
 * The address at which a GET gives the same answer as a tool's call, without the key; undefined where the call does not fit into
 * one. Lists and objects are written as JSON, which a query may hold.
 */
export function callUrl(base: string, service: string, input: Record<string, unknown>): string | undefined {
  const url = new URL(`/${service}`, base);
  for (const [name, value] of Object.entries(input)) {
    url.searchParams.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return url.href.length <= longest ? url.href : undefined;
}
