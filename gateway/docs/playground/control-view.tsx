import type { ComponentChildren } from 'preact';
import type { ChoiceControl, Control, GroupControl, VariantsControl } from './controls.js';

/** One control with its label and hint; the script reads from the `data-` attributes how to get its value. */
export function ControlView({ control, prefix = 'p' }: { control: Control; prefix?: string }) {
  if (control.kind === 'group') {
    return (
      <Fieldset control={control}>
        <Members members={control.members} prefix={prefix} />
      </Fieldset>
    );
  }
  if (control.kind === 'variants') return <Variants control={control} prefix={prefix} />;
  const id = `${prefix}-${control.path}`;
  const isWide = control.kind === 'json' || (control.kind === 'text' && control.multiline);
  return (
    <div class={`field ${control.kind}${isWide ? ' wide' : ''}`} {...dataOf(control)}>
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

function Members({ members, prefix }: { members: readonly Control[]; prefix: string }) {
  return members.map((member) => <ControlView key={member.path} control={member} prefix={prefix} />);
}

function Variants({ control, prefix }: { control: VariantsControl; prefix: string }) {
  const id = `${prefix}-${control.tag.path}`;
  return (
    <Fieldset control={control}>
      <div class="field choice" {...dataOf(control.tag)}>
        <Label control={control.tag} id={id} />
        <Select control={control.tag} id={id} tagOf={control.path} />
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
          <Members members={members} prefix={`${prefix}-${value}`} />
        </div>
      ))}
    </Fieldset>
  );
}

function Fieldset({ control, children }: { control: Control; children: ComponentChildren }) {
  return (
    <fieldset class="group wide" {...dataOf(control)}>
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
    // Without its conditions the script does not send it.
    'data-only': control.onlyWith && JSON.stringify(control.onlyWith),
    'data-empty': ('sendsEmpty' in control && control.sendsEmpty) || undefined,
  };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Input({ control, id }: { control: Exclude<Control, GroupControl | VariantsControl>; id: string }) {
  const input = inputOf(control, id);
  const value = textOf(control.default);
  switch (control.kind) {
    case 'choice':
      return <Select control={control} id={id} />;
    case 'text':
      if (!control.multiline) return <input {...input} type="text" dir="auto" value={value} />;
      return (
        <textarea {...input} rows={6} dir="auto">
          {value}
        </textarea>
      );
    case 'json':
      return (
        <textarea
          {...input}
          rows={4}
          class="code"
          placeholder={control.allowed.startsWith('a list') ? '[…]' : '{…}'}
        >
          {value}
        </textarea>
      );
    case 'color':
    case 'measure':
      return (
        <div class="beside">
          <input
            {...input}
            type="text"
            value={value}
            placeholder={control.auto && control.default === 'auto' ? 'auto' : undefined}
          />
          {control.kind === 'measure' && <span class="unit">{control.unit}</span>}
          {control.auto && <AutoButton id={id} />}
          {control.kind === 'color' && (
            <input
              type="color"
              class="picker"
              data-for={id}
              aria-label="Colour picker"
              aria-describedby={`${id}-label ${id}-hint`}
            />
          )}
        </div>
      );
    case 'number':
    case 'fraction':
      return (
        <div class="beside">
          <input {...input} type="text" inputMode="decimal" value={value} />
          {control.kind === 'number' && control.unit && <span class="unit">{control.unit}</span>}
          <Slider control={control} id={id} />
        </div>
      );
    default:
      return <input {...input} type="text" value={value} />;
  }
}

function AutoButton({ id }: { id: string }) {
  return (
    <button
      type="button"
      class="quiet-button small"
      data-auto={id}
      aria-pressed="false"
      aria-describedby={`${id}-label`}
    >
      Auto
    </button>
  );
}

/** A coarse way to set the text beside it, which is what is sent. */
function Slider({ control, id }: { control: Control; id: string }) {
  const range =
    control.kind === 'fraction'
      ? { min: 0, max: 1, step: 0.01 }
      : control.kind === 'number' && control.slider && control;
  if (!range) return null;
  const { min, max, step } = range;
  return (
    <input
      type="range"
      class="slider"
      data-for={id}
      min={min}
      max={max}
      step={step}
      value={Number(control.default ?? min)}
      aria-label="Slider"
      aria-describedby={`${id}-label ${id}-hint`}
    />
  );
}

/** One of the options; none where there is no default. */
function Select({ control, id, tagOf }: { control: ChoiceControl; id: string; tagOf?: string }) {
  const chosen = 'default' in control ? String(control.default) : undefined;
  return (
    <select {...inputOf(control, id)} data-tag={tagOf}>
      {chosen === undefined && <option value="">{control.required ? 'Choose…' : 'None'}</option>}
      {control.options.map((option) => (
        <option
          key={String(option)}
          value={String(option)}
          selected={String(option) === chosen}
          data-aliases={control.aliases?.[String(option)]?.join(' ') || undefined}
        >
          {String(option)}
        </option>
      ))}
    </select>
  );
}

/** The attributes of every input. */
function inputOf(control: Control, id: string) {
  const required = control.required && control.kind !== 'switch' ? `${id}-required ` : '';
  return {
    id,
    'data-input': control.path,
    'aria-describedby': `${required}${id}-hint`,
    autocomplete: 'off' as const,
    autocapitalize: 'none' as const,
    spellcheck: false,
  };
}

/** A default as it is typed. */
function textOf(value: unknown): string {
  if (value === undefined) return '';
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
