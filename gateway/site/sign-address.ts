import type { FieldProblem } from '../../schemas/field-problem.js';
import { parseTime } from '../../schemas/keywords/future.js';
import { GatewayError, inputError } from '../errors.js';
import { isLoopbackHost, withoutBrackets } from '../http/request.js';
import { noHelperAt } from '../plugins/discover.js';
import { helperAt } from '../plugins/paths.js';
import {
  canonicalQuery,
  endProblem,
  noSignatureProblem,
  readUnsigned,
  type UnsignedUrl,
} from '../signing/signed-url.js';
import type { Service } from './site.js';

/** How long a signed url is to work, as the form offers it. */
export const expiries = [
  ['1', 'In 1 day'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['day', 'On a day of your own'],
] as const;

/** What signs a url, and for which helpers; `apiUrl` completes an address that begins with its path. */
export interface SignWith {
  sign: (call: { url: string; service: string; exp: number }) => Promise<string>;
  services: readonly Service[];
  apiUrl: string;
  now: number;
}

/** A url that shows one picture, or whatever its helper answers, until it expires. */
export type SignedAddress = Awaited<ReturnType<typeof signAddress>>;

const hourMs = 3_600_000;

/** Signs what a form asks for; rejects with `invalid_input` and all that is wrong, by field. */
export async function signAddress(
  form: ReadonlyMap<string, string>,
  { sign, services, apiUrl, now }: SignWith,
) {
  const problems: FieldProblem[] = [];
  const unsigned = collectProblems(() => readAddress(form.get('url')?.trim() ?? ''), problems);
  const service = unsigned && collectProblems(() => findService(unsigned, services), problems);
  const expires = collectProblems(
    () => readExpiry(form.get('expires') ?? '', form.get('until')?.trim() ?? '', now),
    problems,
  );
  if (problems.length > 0 || !unsigned || !service || expires === undefined) throw inputError(problems);

  const { origin, path, query, values } = unsigned;
  const signAt = (base: string) =>
    sign({ url: `${base}${path}?${query}`, service: service.id, exp: expires / 1000 });
  return {
    url: await signAt(origin || apiUrl),
    /** The same at the API's own origin. */
    atApi: await signAt(apiUrl),
    /** What was signed: path and query, of characters that are safe between quotes in any language. */
    address: values.size === 0 ? path : `${path}?${canonicalQuery(values)}`,
    service,
    /** As far as is known before it is called: a dry run answers with data. */
    picture: service.picture && !['true', '1'].includes(values.get('dryrun') ?? ''),
    expires,
  };
}

/** The value that `read` returns; problems of a field that it throws are added to the others. */
function collectProblems<T>(read: () => T, problems: FieldProblem[]): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GatewayError) || !error.details) throw error;
    problems.push(...error.details);
    return undefined;
  }
}

function readAddress(text: string): UnsignedUrl {
  if (text === '') throw fieldError('url', 'must be given: the address of a helper with its parameters');
  return readUnsigned(text);
}

function findService({ path }: UnsignedUrl, services: readonly Service[]): Service {
  const ids = services.map((each) => each.id);
  const id = helperAt(path, ids);
  const service = services.find((each) => each.id === id);
  if (!service) throw fieldError('url', noHelperAt(path, ids));
  if (service.effects) throw fieldError('url', noSignatureProblem(service.id));
  return service;
}

/** In ms, from the next full hour: within an hour the same address gives the same url, for caches. */
function readExpiry(choice: string, until: string, now: number): number {
  if (!expiries.some(([value]) => value === choice))
    throw fieldError('expires', 'must be one of the choices');
  if (choice !== 'day') {
    const problem = 'is given, but another choice is made above; choose a day of your own, or clear it';
    if (until !== '') throw fieldError('until', problem);
    return (Math.floor(now / hourMs) + 1) * hourMs + Number(choice) * 24 * hourMs;
  }
  const time = parseTime(until);
  if (time === undefined || time % 1000 !== 0) throw fieldError('until', 'must be a day such as 2030-01-31');
  if (time <= now) throw fieldError('until', `is ${until}, which has passed; it must lie in the future`);
  const tooLong = endProblem(time / 1000, now);
  if (tooLong !== undefined) throw fieldError('until', tooLong);
  return time;
}

function fieldError(field: string, problem: string): GatewayError {
  return inputError([{ field, problem }]);
}

/** Addresses that mean "every address of this machine", and none elsewhere. */
const unspecifiedHosts = ['0.0.0.0', '::'];

/** Why a page of the site cannot show a picture of the API, reading on from "No preview:". */
export function whyNoPreview(siteUrl: string, apiUrl: string): string | undefined {
  const site = new URL(siteUrl);
  const api = new URL(apiUrl);
  const host = withoutBrackets(api.hostname);
  const isOwn = isLoopbackHost(api.hostname) || unspecifiedHosts.includes(host);
  if (isOwn && !isLoopbackHost(site.hostname)) {
    return 'this site does not know the API’s public address, which its operator sets in HELPER_API_URL.';
  }
  if (site.protocol === 'https:' && api.protocol === 'http:' && !isOwn) {
    return 'the API’s address is one without https, and browsers show no picture of such a one on a page like this.';
  }
  if (host.includes(':')) return 'a page’s policy cannot name the API’s address, which is one of IPv6.';
  return undefined;
}
