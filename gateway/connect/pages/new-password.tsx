import { MAX_PASSWORD, MIN_PASSWORD } from '../auth/auth-options.js';
import type { FormState } from '../page.js';
import type { Site } from '../site.js';
import { Field } from './form.js';

/** What is wrong with a new password of somebody, if anything. */
export async function passwordProblem(
  site: Pick<Site, 'passwords'>,
  password: string,
  person: { email: string; name: string },
): Promise<string | undefined> {
  if (password.length < MIN_PASSWORD || password.length > MAX_PASSWORD) {
    return `must be ${MIN_PASSWORD} to ${MAX_PASSWORD} characters; a few words are fine`;
  }
  const about = [person.email, person.name, 'helper gateway operator'];
  if (!(await site.passwords.isGuessable(password, about))) return undefined;
  return 'is easy to guess; take four words or more that do not belong together, or let a password manager make one';
}

/** A new password, twice. */
export function NewPassword({ state }: { state: FormState }) {
  const common = { type: 'password', state, required: true, autocomplete: 'new-password' } as const;
  return (
    <>
      <Field
        {...common}
        name="password"
        label="New password"
        minLength={MIN_PASSWORD}
        maxLength={MAX_PASSWORD}
        hint={`At least ${MIN_PASSWORD} characters. A few words are fine.`}
      />
      <Field {...common} name="again" label="New password again" />
    </>
  );
}
