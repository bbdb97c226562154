import type {
  ChoiceControl,
  ColorControl,
  Control,
  GroupControl,
  MeasureControl,
  VariantsControl,
} from '../control.js';

/** What a value is typed into or chosen with, and what stands beside that. */
export function Input({
  control,
  id,
}: {
  control: Exclude<Control, GroupControl | VariantsControl>;
  id: string;
}) {
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
      return (
        <div class="beside">
          <input {...input} type="text" value={value} placeholder={placeholderOf(control)} />
          <AutoButton control={control} id={id} />
          <input
            type="color"
            class="picker"
            data-for={id}
            aria-label="Colour picker"
            aria-describedby={`${id}-label ${id}-hint`}
          />
        </div>
      );
    case 'measure':
      return (
        <div class="beside">
          <input {...input} type="text" value={value} placeholder={placeholderOf(control)} />
          <span class="unit">{control.unit}</span>
          <AutoButton control={control} id={id} />
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

/** Leaves the choice to the helper, at a press; the text beside it says so too. */
function AutoButton({ control, id }: { control: ColorControl | MeasureControl; id: string }) {
  if (!control.auto) return null;
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

/** What an empty text comes to. */
function placeholderOf({ auto, default: preset }: ColorControl | MeasureControl): string | undefined {
  return auto && preset === 'auto' ? 'auto' : undefined;
}

/** The same value by hand; the text beside it says it exactly, and is what is sent. */
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
export function Select({
  control,
  id,
  data,
}: {
  control: ChoiceControl;
  id: string;
  data?: Record<string, string>;
}) {
  const chosen = 'default' in control ? String(control.default) : undefined;
  return (
    <select {...inputOf(control, id)} {...data}>
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

/** What every input has: its name for labels, what is said of it, and the parameter that it is for. */
export function inputOf(control: Control, id: string) {
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
