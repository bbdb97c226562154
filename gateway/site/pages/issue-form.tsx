import type { IssueOptions } from '../../keys/inputs.js';
import { keySchema } from '../../keys/schemas.js';
import { knownScopes } from '../../keys/scopes.js';
import type { FormState } from '../page.js';
import type { Site } from '../site.js';
import { Field, Form } from './form.js';

/** The form for a new key. */
export function IssueForm(props: { tenant: string; services: Site['services']; state: FormState }) {
  const { tenant, state } = props;
  const services = props.services();
  const summaries = new Map(services.map(({ id, summary }) => [id, summary]));
  const scopes = knownScopes(services.map(({ id }) => id));
  return (
    <section class="panel" id="issue">
      <h2>Issue a key</h2>
      <Form action={`/tenants/${tenant}/keys`} once>
        <Field
          name="label"
          label="Label"
          state={state}
          maxLength={keySchema.properties.label.line}
          hint="Who or what uses it, such as “billing, production”."
        />
        <fieldset aria-describedby={state.problems.scopes ? 'scopes-problem' : 'scopes-hint'}>
          <legend>May call</legend>
          <p class="hint" id="scopes-hint">
            None chosen means every helper, those added later too.
          </p>
          <div class="checks">
            {scopes.map((scope) => (
              <label class="choice" key={scope}>
                <input type="checkbox" name={`scope:${scope}`} checked={state.values.has(`scope:${scope}`)} />{' '}
                <span>
                  <code>{scope}</code>
                  <small>
                    {summaries.get(scope) ?? 'Every helper in this group, those added later too.'}
                  </small>
                </span>
              </label>
            ))}
          </div>
          {state.problems.scopes && (
            <p class="problem" id="scopes-problem">
              May call {state.problems.scopes}.
            </p>
          )}
        </fieldset>
        <Field
          name="expires_at"
          label="Expires"
          type="date"
          state={state}
          placeholder="2030-01-31"
          hint="The key stops working when this day begins in UTC. Empty: it never expires."
        />
        <button type="submit">Issue key</button>
      </Form>
    </section>
  );
}

/** Reads the form; what is wrong with it is the key store's to say. */
export function readIssueForm(form: ReadonlyMap<string, string>): IssueOptions {
  const scopes = [...form.keys()].filter((name) => name.startsWith('scope:')).map((name) => name.slice(6));
  return {
    label: form.get('label')?.trim() || undefined,
    scopes: scopes.length > 0 ? scopes : undefined,
    expires_at: form.get('expires_at')?.trim() || undefined,
  };
}
