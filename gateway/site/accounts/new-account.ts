import { isLine } from '../../../schemas/vocabulary/line.js';
import type { PasswordJudge } from './password-judge.js';

/** Characters of a password. */
export const leastPassword = 12;
export const mostPassword = 128;

/** What somebody without an account gives to get one. */
export interface NewAccount {
  email: string;
  name: string;
  password: string;
}

/** Characters of a name. */
export const longestName = 100;

/** What is wrong with a new account, by field. */
export async function accountProblems(
  passwords: PasswordJudge,
  { email, name, password }: NewAccount,
): Promise<Record<string, string>> {
  const problems: Record<string, string> = {};
  // As strict as what better-auth takes at sign-in, or an account could be made that cannot be used.
  if (
    email.length > 254 ||
    !/^[a-z0-9_'+.-]*[a-z0-9_+-]@([a-z0-9][a-z0-9-]*\.)+[a-z]{2,}$/.test(email) ||
    /^\.|\.\./.test(email)
  ) {
    problems.email = 'must be an e-mail address such as name@example.com';
  }
  if (!isLine(name, longestName)) {
    problems.name = `must be at most ${longestName} characters without control characters`;
  }
  const problem = await passwordProblem(passwords, password, { email, name });
  if (problem) problems.password = problem;
  return problems;
}

/** What is wrong with a new password of somebody, if anything. */
export async function passwordProblem(
  passwords: PasswordJudge,
  password: string,
  person: { email: string; name: string },
): Promise<string | undefined> {
  if (password.length < leastPassword || password.length > mostPassword) {
    return `must be ${leastPassword} to ${mostPassword} characters; a few words are fine`;
  }
  const about = [person.email, person.name, 'helper gateway operator'];
  if (!(await passwords.isGuessable(password, about))) return undefined;
  return 'is easy to guess; take four words or more that do not belong together, or let a password manager make one';
}
