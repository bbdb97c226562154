import { userInfo } from 'node:os';
import { readSeconds } from '../../schemas/config/forms.js';
import { parseTime } from '../../schemas/keywords/future.js';
import { GatewayError, inputError } from '../errors.js';
import type { KeyAdmin } from '../keys/admin.js';
import { rotationSchema } from '../keys/schemas.js';
import { type Answer, answer, type JsonOption, type Terminal } from './output.js';

/** The keys; opened by each command, and closed at its end. */
export interface OpenedKeys {
  admin: KeyAdmin;
  /** The ids of all helpers. */
  services: readonly string[];
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Whether the command derives signing secrets. */
  signs?: boolean;
}

export type OpenKeys = (options?: OpenOptions) => Promise<OpenedKeys>;

/** Opens the keys, does the work, closes them and prints the answer. */
export async function withKeys(
  open: OpenKeys,
  terminal: Terminal,
  options: JsonOption & OpenOptions,
  work: (admin: KeyAdmin, actor: string, services: readonly string[]) => Promise<Answer>,
): Promise<void> {
  await answer(terminal, options.json === true, async () => {
    const { admin, services, close } = await open({ signs: options.signs === true });
    try {
      return await work(admin, actorName(), services);
    } catch (error) {
      throw withTypedNames(error, options.json === true);
    } finally {
      await close();
    }
  });
}

/** Who the audit log names for what is done on the command line. */
export function actorName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container's user may have a number and no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}

const longestGrace = rotationSchema.properties.grace_seconds.maximum / 86_400;

/** The command line's name of each field of the key administration, and what it accepts besides. */
const typedNames: Readonly<Record<string, { as: string; hint?: string }>> = {
  name: { as: '<name>' },
  url: { as: '<url>' },
  id: { as: '<id>' },
  label: { as: '--label' },
  scopes: { as: '--scope' },
  expires_at: { as: '--expires', hint: 'a time from now such as 12h or 30d is taken too' },
  grace_seconds: { as: '--grace', hint: `the longest is ${longestGrace}d` },
};

/**
 * An error of the key administration with its fields named as they were typed: `--expires` for people, `expires` for programs.
 * Any other error stays as it is.
 */
function withTypedNames(error: unknown, json: boolean): unknown {
  if (!(error instanceof GatewayError) || !error.details) return error;
  const details = error.details.map(({ field, problem }) => {
    const { as, hint } = typedNames[field] ?? { as: field };
    return {
      field: json ? as.replace(/[<>]|^--/g, '') : as,
      problem: hint === undefined ? problem : `${problem}; ${hint}`,
    };
  });
  if (error.code === 'invalid_input') return inputError(details, error);
  return new GatewayError(error.code, { message: error.message, details, cause: error });
}

/** Reads all pages of a list. */
export async function allPages<T>(
  read: (after: string | undefined) => Promise<{ items: T[]; next: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  let after: string | undefined;
  do {
    const { items, next } = await read(after);
    all.push(...items);
    after = next ?? undefined;
  } while (after !== undefined);
  return all;
}

/**
 * Whole seconds of `30s`, `15m`, `24h` or `7d`; `now` and `0` are 0; undefined for anything else. A number alone, which
 * elsewhere means milliseconds, is refused.
 */
export function parseDuration(text: string): number | undefined {
  if (text === 'now' || text === '0') return 0;
  return /^\d{1,9}[smhd]$/.test(text) ? readSeconds(text) : undefined;
}

/**
 * The moment that `30d` or `12h` from `now` (ms) means, in ISO 8601. Any other text is returned as it is, to be checked by the
 * keys' rules.
 */
export function parseExpiry(text: string, now: number): string {
  const seconds = parseDuration(text);
  if (!seconds) return text;
  const end = new Date(now + seconds * 1000);
  // Too far away for a date, or for a year of four digits.
  const written = Number.isNaN(end.getTime()) ? '' : end.toISOString();
  return parseTime(written) === undefined ? text : written;
}
