import { leastPassword, mostPassword } from '../accounts/new-account.js';
import type { FormState } from '../page.js';
import { Field } from './form.js';

/** A new password, twice. */
export function NewPassword({ state }: { state: FormState }) {
  const common = { type: 'password', state, required: true, autocomplete: 'new-password' } as const;
  return (
    <>
      <Field
        {...common}
        name="password"
        label="New password"
        minLength={leastPassword}
        maxLength={mostPassword}
        hint={`At least ${leastPassword} characters. A few words are fine.`}
      />
      <Field {...common} name="again" label="New password again" />
    </>
  );
}
