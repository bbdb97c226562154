import { quote } from '../../schemas/quote.js';

/** First parts of the paths that the gateway answers or rewrites itself, or will: no helper may grow into their place. */
const reserved = new Set(['healthz', 'readyz', 'img', 'docs', 'openapi.json', 'mcp', 'jobs']);
const segment = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** What is wrong with the parts of a route; undefined where it may be one. */
export function partProblem(route: readonly string[]): string | undefined {
  const bad = route.find((part) => !segment.test(part));
  if (bad === undefined) return undefined;
  return `${quote(bad)} cannot be part of a route: use lower-case letters, digits and hyphens`;
}

/** Why a helper may not have this id; undefined where nothing is reserved. */
export function reservedProblem(id: string): string | undefined {
  const [first = ''] = id.split('/');
  return reserved.has(first) ? `the route /${first} is the gateway's own` : undefined;
}
