import { userInfo } from 'node:os';
import { readSeconds } from '../../schemas/config/forms.js';
import { parseTime } from '../../schemas/keywords/future.js';
import { GatewayError, inputError } from '../errors.js';
import type { KeyAdmin } from '../keys/admin.js';
import { rotationSchema } from '../keys/schemas.js';
import type { UsageReports } from '../usage/reports.js';
import type { openAdmin } from './open-admin.js';
import { type Answer, answer, type JsonOption, type Terminal } from './output.js';

/** Opens the keys for one command, which `signs` or not. */
export type OpenKeys = typeof openAdmin;

/** Opens something for one command, does the work, closes it and prints the answer. */
export function withOpened<T extends { close(): Promise<void> }>(
  open: () => Promise<T>,
  terminal: Terminal,
  { json = false }: JsonOption,
  work: (opened: T, actor: string) => Promise<Answer>,
): Promise<void> {
  return answer(terminal, json, async () => {
    const opened = await open();
    try {
      return await work(opened, actorName());
    } catch (error) {
      throw withTypedNames(error, json);
    } finally {
      await opened.close();
    }
  });
}

export function withKeys(
  open: OpenKeys,
  terminal: Terminal,
  options: JsonOption & { signs?: boolean },
  work: (
    admin: KeyAdmin,
    actor: string,
    services: readonly string[],
    reports: UsageReports,
  ) => Promise<Answer>,
): Promise<void> {
  const opens = () => open({ signs: options.signs === true });
  return withOpened(opens, terminal, options, ({ admin, services, reports }, actor) =>
    work(admin, actor, services, reports),
  );
}

/** Who the audit log names for what is done on the command line. */
function actorName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container's user may have a number and no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}

const longestGrace = rotationSchema.properties.grace_seconds.maximum / 86_400;

/** Filters of lists, which are options of their own names. */
const filters = [
  'actor',
  'action',
  'by',
  'code',
  'from',
  'key',
  'limit',
  'service',
  'status',
  'tenant',
  'to',
];

/** The command line's name of each field of the key administration, and what it accepts besides. */
const typedNames: Readonly<Record<string, { as: string; hint?: string }>> = {
  ...Object.fromEntries(filters.map((name) => [name, { as: `--${name}` }])),
  name: { as: '<name>' },
  recipe: { as: '<name>' },
  file: { as: '<file>' },
  url: { as: '<url>' },
  id: { as: '<id>' },
  label: { as: '--label' },
  scopes: { as: '--scope' },
  role: { as: '--role' },
  note: { as: '<email>' },
  expires_at: { as: '--expires', hint: 'a time from now such as 12h or 30d is accepted too' },
  rate: { as: '--rate' },
  burst: { as: '--burst' },
  monthly_quota: { as: '--monthly-quota' },
  in_flight: { as: '--in-flight' },
  monthly_cpu_ms: { as: '--monthly-cpu-ms' },
  weight: { as: '--weight' },
  plan: { as: '--plan' },
  yes: { as: '--yes' },
  q: { as: '--search' },
  sort: { as: '--sort' },
  state: { as: '--state' },
  grace_seconds: { as: '--grace', hint: `the longest is ${longestGrace}d` },
};

/** An error's fields named as they were typed: `--expires` for people, `expires` for programs. */
function withTypedNames(error: unknown, json: boolean): unknown {
  if (!(error instanceof GatewayError) || !error.details) return error;
  const details = error.details.map(({ field: name, problem }) => {
    const { as, hint } = typedNames[name] ?? { as: name };
    const field = json ? as.replace(/[<>]|^--/g, '') : as;
    return { field, problem: hint === undefined ? problem : `${problem}; ${hint}` };
  });
  if (error.code === 'invalid_input') return inputError(details, error);
  return new GatewayError(error.code, { message: error.message, details, cause: error });
}

/** Reads all pages of a list; `name` is that of their items. */
export async function allPages<Name extends string, Item>(
  name: Name,
  read: (page: {
    after: string | undefined;
    limit: number;
  }) => Promise<Record<Name, Item[]> & { next: string | null }>,
): Promise<Item[]> {
  const all: Item[] = [];
  let after: string | undefined;
  do {
    const page = await read({ after, limit: 1000 });
    all.push(...page[name]);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return all;
}

/** Whole seconds of `30s`, `15m`, `24h` or `7d`; `now` and `0` are 0. A number alone, which elsewhere means milliseconds, is refused. */
export function parseDuration(text: string): number | undefined {
  if (text === 'now' || text === '0') return 0;
  return /^\d{1,9}[smhd]$/.test(text) ? readSeconds(text) : undefined;
}

/** The moment that `30d` or `12h` from `now` (ms) means, in ISO 8601; any other text as it is, to be checked by the keys' rules. */
export function parseExpiry(text: string, now: number): string {
  const seconds = parseDuration(text);
  if (!seconds) return text;
  const end = new Date(now + seconds * 1000);
  // Too far away for a date, or for a year of four digits.
  const written = Number.isNaN(end.getTime()) ? '' : end.toISOString();
  return parseTime(written) === undefined ? text : written;
}
