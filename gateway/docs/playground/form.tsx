import type { ComponentChildren } from 'preact';
import type { FileField } from '../../../schemas/declared-helper.js';
import { describeFile } from '../../../schemas/parameters/compile-schema.js';
import type { Helper } from '../../plugins/registry.js';
import type { Assets } from '../doc-route.js';
import { type ChoiceControl, type Control, controlOf, type FieldControl } from './controls.js';

interface HelperFormProps {
  helper: Helper;
  assets: Assets;
  keySite: string | undefined;
}

/** The form of a helper. Nothing in it is sent by the browser: the script makes the call, with the key in a header. */
export function HelperForm({ helper, assets, keySite }: HelperFormProps) {
  const { id, declaration, parameters } = helper;
  const { files, output, examples, input: root } = declaration;
  const ofFiles = new Set(files.map(({ parameter }) => parameter));
  const own = parameters.properties.filter(({ name }) => !ofFiles.has(name));
  // Without a declared output, a helper of pictures answers with one: snippets need that before the first answer.
  const isPicture = output === undefined && files.some(({ kind, required }) => kind === 'image' && required);
  return (
    <form
      id="try"
      class="panel"
      data-service={id}
      data-answer={isPicture ? 'picture' : 'data'}
      aria-labelledby="try-title"
      noValidate
      autocomplete="off"
    >
      <h2 id="try-title">Try it</h2>
      <KeyField keySite={keySite} />
      {examples.length > 0 && (
        <fieldset class="examples">
          <legend>Examples</legend>
          {examples.map(({ summary, input }, at) => (
            <button key={at} type="button" class="quiet-button small" data-example={JSON.stringify(input)}>
              {summary ?? `Example ${at + 1}`}
            </button>
          ))}
        </fieldset>
      )}
      <ul class="problems" id="problems" tabIndex={-1} aria-label="Problems" hidden />
      <div class="fields">
        {files.map((file) => (
          <FileView key={file.field} file={file} assets={assets} />
        ))}
        {own.map(({ name, schema, required }) => (
          <ControlView key={name} control={controlOf(name, schema, { root, required })} />
        ))}
      </div>
      <div class="actions">
        <button type="submit" id="send">
          Send
        </button>
        <button type="button" id="link" class="quiet-button">
          Copy link
        </button>
        <button type="reset" class="link">
          Reset
        </button>
      </div>
    </form>
  );
}

/** Without a name, so that no form, address or password manager stores it. */
function KeyField({ keySite }: { keySite: string | undefined }) {
  return (
    <div class="field key">
      <Label id="key" text="API key" />
      <div class="beside">
        <input {...plainInput('key')} type="password" />
        <button type="button" id="show-key" class="quiet-button" aria-pressed="false">
          Show
        </button>
      </div>
      <p class="hint" id="key-hint">
        Kept in this page’s memory alone, and forgotten at a reload. <KeySource keySite={keySite} />
      </p>
    </div>
  );
}

/** Where a key is had, as far as the visitor can get there. */
export function KeySource({ keySite }: { keySite: string | undefined }) {
  if (keySite === undefined) {
    return <>No key yet? Ask whoever runs this gateway: its first start printed one.</>;
  }
  return (
    <>
      No key yet? Use the one that the gateway’s first start printed, or get one at the{' '}
      <a href={keySite}>key site</a>.
    </>
  );
}

const pictures = ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif'];

/** Pictures to try helpers with, fetched when chosen. */
const samples = [
  { name: 'landscape.jpg', title: 'Landscape', type: 'image/jpeg' },
  { name: 'badge.png', title: 'Badge, transparent', type: 'image/png' },
  { name: 'pulse.gif', title: 'Pulse, animated', type: 'image/gif' },
];

/** A file, from the visitor's machine, from an address, or one of the samples. */
function FileView({ file, assets }: { file: FileField; assets: Assets }) {
  const { field, parameter, kind, types, required, insteadOf } = file;
  const accept = types ?? (kind === 'image' ? pictures : undefined);
  const fitting = kind === 'image' ? samples.filter(({ type }) => acceptsType(type, types)) : [];
  const urlLabel = field === parameter ? `url of ${parameter}` : parameter;
  return (
    <div
      class="field file wide"
      data-file={field}
      data-path={parameter}
      data-instead-of={insteadOf}
      data-kind="file"
    >
      <Label id={`f-${field}`} text={field} note={required && `required, or ${urlLabel}`} />
      <div class="drop">
        <input
          {...plainInput(`f-${field}`, required)}
          type="file"
          data-input={field}
          accept={accept?.join(',')}
        />
        <p class="chosen quiet" data-chosen hidden>
          <span />
          <button type="button" class="quiet-button small" data-clear>{`Remove ${field}`}</button>
        </p>
      </div>
      <p class="hint" id={`f-${field}-hint`}>
        {describeFile(file) ?? describeKind(file)} It can be dropped or pasted here.
      </p>
      {fitting.length > 0 && (
        <fieldset class="samples">
          <legend class="hint">Or a sample:</legend>
          {fitting.map(({ name, title }) => (
            <button key={name} type="button" class="quiet-button small" data-sample={assets.path(name)}>
              {title}
            </button>
          ))}
        </fieldset>
      )}
      <Label id={`u-${field}`} text={urlLabel} />
      <input
        {...plainInput(`u-${field}`)}
        type="text"
        inputMode="url"
        data-input={parameter}
        data-url
        placeholder="https://"
      />
      <p class="hint" id={`u-${field}-hint`}>
        A public https address, in place of the file.
      </p>
    </div>
  );
}

function describeKind({ kind, types }: FileField): string {
  if (types !== undefined) return `A file of the type ${types.join(', ')}.`;
  return kind === 'image' ? 'A picture: JPEG, PNG, WebP, GIF or AVIF.' : 'Any file.';
}

/** Whether a media type is among these, which may end in `/*`; any is where there are none. */
function acceptsType(type: string, types: readonly string[] = ['image/*']): boolean {
  return types.some((each) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
}

/** One control with its label and hint; the script reads from the `data-` attributes how to get its value. */
function ControlView({ control, prefix = 'p' }: { control: Control; prefix?: string }) {
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

function Label({ id, text, note }: { id: string; text: string; note?: string | false }) {
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

/** Those of every input. */
function plainInput(id: string, required = false) {
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
