import { closest } from 'fastest-levenshtein';

import type { FieldProblem } from '../../schemas/problem.js';
import { quote } from '../../schemas/quote.js';
import { GatewayError } from '../errors.js';
import type { TenantLimits } from './model.js';
import { knownScopes } from './scopes.js';

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const KEY_ID = /^key_[0-9A-Za-z]{1,40}$/;
const LABEL_LENGTH = 100;
const MAX_SCOPES = 100;
export const DEFAULT_GRACE_SECONDS = 86_400;
export const MAX_GRACE_SECONDS = 90 * 86_400;

type Check<T> = { value: T } | { problem: string };

/** Collects what is wrong with each field, so that one answer names all of it. */
export class InputChecks {
  readonly #problems: FieldProblem[] = [];

  /** The checked value; where there is a problem, `finish` throws and the value does not matter. */
  take<T>(field: string, check: Check<T>, instead: T): T {
    if ('value' in check) return check.value;
    this.#problems.push({ field, problem: check.problem });
    return instead;
  }

  finish(): void {
    if (this.#problems.length > 0) throw new GatewayError('invalid_input', { details: this.#problems });
  }
}

/** Whether a tenant can have this name: what cannot be one is not looked up (PostgreSQL refuses some of it). */
export function isTenantName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && KEY_ID.test(value);
}

export function checkName(value: unknown): Check<string> {
  if (isTenantName(value)) return { value };
  return {
    problem: `is ${shown(value)}; it must be 1 to 63 of a-z, 0-9 and "-", and must not begin with "-"`,
  };
}

// Line ends, half characters (PostgreSQL would keep others in their place), and what turns the direction of the text
// around it, so that a name could pass for another one in a list.
const NOT_IN_A_LINE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** Whether people can be shown this as a label or a name: one line of at most so many characters. */
export function isLine(text: string, maxLength: number): boolean {
  return [...text].length <= maxLength && !NOT_IN_A_LINE.test(text);
}

export function checkLabel(value: unknown): Check<string | null> {
  if (value === undefined || value === null) return { value: null };
  if (typeof value === 'string' && value.trim() !== '' && isLine(value, LABEL_LENGTH)) return { value };
  return {
    problem: `is ${shown(value)}; it must be 1 to ${LABEL_LENGTH} characters without control characters`,
  };
}

export function checkScopes(value: unknown, services: readonly string[]): Check<string[] | null> {
  if (value === undefined || value === null) return { value: null };
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_SCOPES) {
    return {
      problem: `is ${shown(value)}; it must be a list of 1 to ${MAX_SCOPES} scopes, or be left out for every helper`,
    };
  }
  const known = knownScopes(services);
  const problems = value.filter((scope) => !known.includes(scope)).map((scope) => unknownScope(scope, known));
  return problems.length > 0 ? { problem: problems.join('; ') } : { value: [...new Set<string>(value)] };
}

/** Absent is null; otherwise a whole number (`integer`) or any number within the bounds, both included. */
export function checkNumber(
  value: unknown,
  bounds: { min: number; max: number; integer: boolean },
): Check<number | null> {
  if (value === undefined || value === null) return { value: null };
  const { min, max, integer } = bounds;
  const fits = typeof value === 'number' && value >= min && value <= max;
  if (fits && (!integer || Number.isInteger(value))) return { value };
  return {
    problem: `is ${shown(value)}; it must be ${integer ? 'a whole' : 'a'} number from ${min} to ${max}`,
  };
}

/** What each limit may be. */
export const LIMIT_BOUNDS = {
  rate: { min: 0, max: 1_000_000, integer: true },
  burst: { min: 0, max: 1_000_000, integer: true },
  monthly_quota: { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true },
  in_flight: { min: 1, max: 10_000, integer: true },
} as const satisfies Record<keyof TenantLimits, object>;

function unknownScope(scope: unknown, known: readonly string[]): string {
  const head = `has the unknown scope ${shown(scope)}`;
  // Levenshtein distance is quadratic in the lengths; nobody misspells a scope by this much.
  if (typeof scope !== 'string' || scope.length > 200 || known.length === 0) return head;
  return `${head}; the nearest is ${shown(closest(scope, known))}`;
}

/** A value as an error may show it: its type and, where it is short enough, itself. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return value.length > 60 ? `a string of ${value.length} characters` : quote(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  if (value === undefined) return 'missing';
  return Array.isArray(value) ? `a list of ${value.length}` : `of type ${typeof value}`;
}
