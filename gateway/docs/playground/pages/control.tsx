import type { ComponentChildren } from 'preact';
import type { Control, GroupControl, VariantsControl } from '../control.js';
import { Input, inputOf, Select } from './input.js';

/** One control with its label and what is said of it; the script reads how to take its value from the `data-` attributes. */
export function ControlView({ control, prefix = 'p' }: { control: Control; prefix?: string }) {
  if (control.kind === 'group') return <Group control={control} prefix={prefix} />;
  if (control.kind === 'variants') return <Variants control={control} prefix={prefix} />;
  const id = `${prefix}-${control.path}`;
  return (
    <div class={`field ${control.kind}${isWide(control) ? ' wide' : ''}`} {...dataOf(control)}>
      {control.kind === 'switch' ? (
        <div class="switch-row">
          <input {...inputOf(control, id)} type="checkbox" checked={control.default === true} />
          <Label control={control} id={id} />
        </div>
      ) : (
        <>
          <Label control={control} id={id} />
          <Input control={control} id={id} />
        </>
      )}
      <p class="hint" id={`${id}-hint`}>
        {control.description ?? `${capital(control.allowed)}.`}
        {control.kind === 'list' && ' With commas between them.'}
        {control.kind === 'json' && ' As JSON.'}
      </p>
    </div>
  );
}

function isWide(control: Control): boolean {
  return control.kind === 'json' || (control.kind === 'text' && control.multiline);
}

function Label({ control, id }: { control: Control; id: string }) {
  return (
    <div class="label">
      <label id={`${id}-label`} for={id}>
        {control.path}
      </label>
      {control.required && control.kind !== 'switch' && (
        <span class="optional" id={`${id}-required`}>
          required
        </span>
      )}
    </div>
  );
}

function Group({ control, prefix }: { control: GroupControl; prefix: string }) {
  return (
    <Fieldset control={control}>
      {control.members.map((member) => (
        <ControlView key={member.path} control={member} prefix={prefix} />
      ))}
    </Fieldset>
  );
}

function Variants({ control, prefix }: { control: VariantsControl; prefix: string }) {
  const id = `${prefix}-${control.tag.path}`;
  return (
    <Fieldset control={control}>
      <div class="field choice" {...dataOf(control.tag)}>
        <Label control={control.tag} id={id} />
        <Select control={control.tag} id={id} data={{ 'data-tag': control.path }} />
        <p class="hint" id={`${id}-hint`}>{`${capital(control.tag.allowed)}.`}</p>
      </div>
      {control.variants.map(({ value, members }) => (
        <div
          class="variant"
          key={String(value)}
          data-variant={control.path}
          data-value={String(value)}
          hidden
        >
          {members.map((member) => (
            <ControlView key={member.path} control={member} prefix={`${prefix}-${value}`} />
          ))}
        </div>
      ))}
    </Fieldset>
  );
}

function Fieldset({ control, children }: { control: Control; children: ComponentChildren }) {
  return (
    <fieldset
      class="group wide"
      data-kind={control.kind}
      data-path={control.path}
      data-required={control.required || undefined}
      data-only={conditionsOf(control)}
    >
      <legend>
        {control.path} {control.required && <span class="optional">required</span>}
      </legend>
      {control.description && <p class="hint">{control.description}</p>}
      <div class="fields">{children}</div>
    </fieldset>
  );
}

function dataOf(control: Control) {
  return {
    'data-kind': control.kind,
    'data-path': control.path,
    'data-types': 'types' in control ? control.types.join(' ') : undefined,
    'data-default': 'default' in control ? JSON.stringify(control.default) : undefined,
    'data-required': control.required || undefined,
    'data-only': conditionsOf(control),
    'data-empty': ('sendsEmpty' in control && control.sendsEmpty) || undefined,
  };
}

/** What it goes with, for the script: beside anything else it is not sent. */
function conditionsOf({ onlyWith }: Control): string | undefined {
  return onlyWith && JSON.stringify(onlyWith);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
