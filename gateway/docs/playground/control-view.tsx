import type { ComponentChildren } from 'preact';
import type { ChoiceControl, Control, FieldControl } from './controls.js';

/** One control with its label and hint; the script reads from the `data-` attributes how to get its value. */
export function ControlView({ control, prefix = 'p' }: { control: Control; prefix?: string }) {
  if (control.kind === 'group') {
    return <Fieldset control={control}>{viewsOf(control.members, prefix)}</Fieldset>;
  }
  if (control.kind === 'variants') {
    return (
      <Fieldset control={control}>
        <FieldView control={control.tag} prefix={prefix} tagOf={control.path} />
        {control.variants.map(({ value, members }) => (
          <div
            class="variant"
            key={String(value)}
            data-variant={control.path}
            data-value={String(value)}
            hidden
          >
            {viewsOf(members, `${prefix}-${value}`)}
          </div>
        ))}
      </Fieldset>
    );
  }
  return <FieldView control={control} prefix={prefix} />;
}

function viewsOf(members: readonly Control[], prefix: string) {
  return members.map((member) => <ControlView key={member.path} control={member} prefix={prefix} />);
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

/** `tagOf` is the path of the alternatives that it chooses from. */
function FieldView({ control, prefix, tagOf }: { control: FieldControl; prefix: string; tagOf?: string }) {
  const { kind, path, required, allowed, description } = control;
  const id = `${prefix}-${path}`;
  const isWide = kind === 'json' || (kind === 'text' && control.multiline);
  const label = <Label id={id} text={path} note={required && kind !== 'switch' && 'required'} />;
  return (
    <div class={`field ${kind}${isWide ? ' wide' : ''}`} {...dataOf(control)}>
      {kind === 'switch' ? (
        <div class="switch-row">
          <input {...inputOf(control, id)} type="checkbox" checked={control.default === true} />
          {label}
        </div>
      ) : (
        <>
          {label}
          <Input control={control} id={id} tagOf={tagOf} />
        </>
      )}
      <p class="hint" id={`${id}-hint`}>
        {description ?? `${allowed.charAt(0).toUpperCase()}${allowed.slice(1)}.`}
        {kind === 'list' && ' With commas between them.'}
        {kind === 'json' && ' As JSON.'}
      </p>
    </div>
  );
}

/** A control's name, and a note beside it. */
export function Label({ id, text, note }: { id: string; text: string; note?: string | false }) {
  return (
    <div class="label">
      <label id={`${id}-label`} for={id}>
        {text}
      </label>
      {note && (
        <span class="optional" id={`${id}-required`}>
          {note}
        </span>
      )}
    </div>
  );
}

/** What the script reads of a control. */
export function dataOf(control: Control) {
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

function Input({ control, id, tagOf }: { control: FieldControl; id: string; tagOf: string | undefined }) {
  const input = inputOf(control, id);
  const value = textOf(control.default);
  const { kind } = control;
  if (kind === 'choice') return <Select control={control} id={id} tagOf={tagOf} />;
  if (kind === 'json' || (kind === 'text' && control.multiline)) {
    const brackets = control.allowed.startsWith('a list') ? '[…]' : '{…}';
    const own = kind === 'json' ? { rows: 4, placeholder: brackets } : { rows: 6, dir: 'auto' as const };
    return (
      <textarea {...input} {...own}>
        {value}
      </textarea>
    );
  }
  if (kind === 'text') return <input {...input} type="text" dir="auto" value={value} />;
  if (kind === 'list') return <input {...input} type="text" value={value} />;
  const canBeAuto = 'auto' in control && control.auto;
  const unit = 'unit' in control && control.unit;
  return (
    <div class="beside">
      <input
        {...input}
        type="text"
        inputMode={kind === 'number' || kind === 'fraction' ? 'decimal' : undefined}
        value={value}
        placeholder={canBeAuto && control.default === 'auto' ? 'auto' : undefined}
      />
      {unit && <span class="unit quiet">{unit}</span>}
      {canBeAuto && (
        <button
          type="button"
          class="quiet-button small"
          data-auto={id}
          aria-pressed="false"
          aria-describedby={`${id}-label`}
        >
          Auto
        </button>
      )}
      {kind === 'color' && <input type="color" class="picker" aria-label="Colour picker" {...follows(id)} />}
      <Slider control={control} id={id} />
    </div>
  );
}

/** A coarse way to set the text beside it, which is what is sent. */
function Slider({ control, id }: { control: Control; id: string }) {
  const fraction = control.kind === 'fraction' && { min: 0, max: 1, step: 0.01 };
  const range = fraction || (control.kind === 'number' && control.slider && control);
  if (!range) return null;
  const { min, max, step } = range;
  const value = Number(control.default ?? min);
  return (
    <input
      {...{ type: 'range', class: 'slider', min, max, step, value }}
      aria-label="Slider"
      {...follows(id)}
    />
  );
}

/** The attributes of a control beside a text. */
function follows(id: string) {
  return { 'data-for': id, 'aria-describedby': `${id}-label ${id}-hint` };
}

interface SelectProps {
  control: ChoiceControl;
  id: string;
  tagOf: string | undefined;
}

/** One of the options; none where there is no default. */
function Select({ control, id, tagOf }: SelectProps) {
  const chosen = 'default' in control ? String(control.default) : undefined;
  return (
    <select {...inputOf(control, id)} data-tag={tagOf}>
      {chosen === undefined && <option value="">{control.required ? 'Choose…' : 'None'}</option>}
      {control.options.map(String).map((option) => (
        <option
          key={option}
          value={option}
          selected={option === chosen}
          data-aliases={control.aliases?.[option]?.join(' ') || undefined}
        >
          {option}
        </option>
      ))}
    </select>
  );
}

/** The attributes of a control's input. */
function inputOf({ kind, path, required }: Control, id: string) {
  return { ...plainInput(id, required && kind !== 'switch'), 'data-input': path };
}

/** The attributes of every input. */
export function plainInput(id: string, required = false) {
  return {
    id,
    'aria-describedby': `${required ? `${id}-required ` : ''}${id}-hint`,
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
