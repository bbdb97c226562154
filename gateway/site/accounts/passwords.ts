import { Piscina } from 'piscina';
import { isLine } from '../../../schemas/keywords/line.js';
import { GatewayError } from '../../errors.js';
import type { EstimatorInput } from './password-worker.js';

/** Characters of a password. */
export const minPassword = 12;
export const maxPassword = 128;

/** What a new account is made from. */
export type NewAccount = Record<'email' | 'name' | 'password', string>;

/** Characters of a name. */
export const maxName = 100;

/** What is wrong with a new account, by field. */
export async function accountProblems(
  passwords: PasswordChecker,
  { password, ...person }: NewAccount,
): Promise<Record<string, string>> {
  const problems = personProblems(person);
  const problem = await passwordProblem(passwords, password, person);
  if (problem) problems.password = problem;
  return problems;
}

/** What is wrong with an account's e-mail, in lower case, and name. */
export function personProblems({ email, name }: Omit<NewAccount, 'password'>): Record<string, string> {
  const problems: Record<string, string> = {};
  if (!isEmail(email)) problems.email = 'must be an e-mail address such as name@example.com';
  if (!isLine(name, maxName)) {
    problems.name = `must be at most ${maxName} characters without control characters`;
  }
  return problems;
}

/** Whether an account may have it as its e-mail, in lower case. */
export function isEmail(text: string): boolean {
  if (text.length > 254 || /^\.|\.\./.test(text)) return false;
  return /^[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/.test(text);
}

/** What is wrong with a person's new password, if anything. */
export async function passwordProblem(
  passwords: PasswordChecker,
  password: string,
  person: { email: string; name: string },
): Promise<string | undefined> {
  if (password.length < minPassword || password.length > maxPassword) {
    return `must be ${minPassword} to ${maxPassword} characters; a few words are fine`;
  }
  const about = [person.email, person.name, 'helper gateway operator'];
  if (!(await passwords.isGuessable(password, about))) return undefined;
  return 'is easy to guess; take four words or more that do not belong together, or let a password manager make one';
}

export type PasswordChecker = ReturnType<typeof createPasswordChecker>;

/** An attacker with 50 guesses in ten minutes, as the throttle allows, needs 380 years for these. */
const minGuesses = 1e9;
/** The estimator's time grows with the square of the length, and a strong password is strong by then. */
const maxEstimatedLength = 40;
const maxWords = 20;
const maxWaiting = 16;
const idleMs = 60_000;

/** Has a thread while passwords are set: the estimator needs 0.25 s and 60 MB to load, 0.1 s a password. */
export function createPasswordChecker() {
  const threads = new Piscina<EstimatorInput, number>({
    filename: new URL('./password-worker.js', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    maxQueue: maxWaiting,
    idleTimeout: idleMs,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });

  return {
    /** Whether too few guesses find it for somebody who knows `about` too: e-mail, name. `busy` where too many wait. */
    async isGuessable(password: string, about: readonly string[]): Promise<boolean> {
      if (threads.queueSize >= maxWaiting) throw new GatewayError('busy');
      const words = about.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]);
      const known = words.filter((word) => word.length > 2).map((word) => word.slice(0, maxEstimatedLength));
      const input = { password: password.slice(0, maxEstimatedLength), known: known.slice(0, maxWords) };
      return (await threads.run(input)) < minGuesses;
    },
  };
}
