import type { FormState } from '../page.js';
import { expiries } from '../sign-address.js';
import { Choices, Field, Form } from './form.js';

/** The form that signs an address with a key; `href` is the key's page. */
export function SignForm({ href, state, example }: { href: string; state: FormState; example: string }) {
  return (
    <Form action={`${href}/sign`}>
      <Field
        name="url"
        label="Address"
        required
        wide
        state={state}
        placeholder={example}
        hint="Of a helper with its parameters, without a key: whole, or from its path on."
      />
      <Choices name="expires" label="It stops working" state={state} value="30" options={expiries} />
      <Field
        name="until"
        label="Day of your own"
        type="date"
        state={state}
        placeholder="2030-01-31"
        hint="It stops working when this day begins in UTC, 366 days from now at most."
      />
      <button type="submit">Sign address</button>
    </Form>
  );
}
