import type { ComponentChildren } from 'preact';
import type { FileField } from '../../../schemas/declared-helper.js';
import { describeFile } from '../../../schemas/parameters/compile-schema.js';
import { callParameters } from '../../../schemas/parameters/parameters.js';
import type { Helper } from '../../plugins/registry.js';
import type { Assets } from '../doc-route.js';
import { ControlView, dataOf, Label, plainInput } from './control-view.js';
import { type Control, controlOf } from './controls.js';

interface HelperFormProps {
  helper: Helper;
  /** The helpers that can be its steps, where it runs others. */
  steps: readonly Helper[] | undefined;
  assets: Assets;
  keySite: string | undefined;
}

/** The form of a helper. Nothing in it is sent by the browser: the script makes the call, with the key in a header. */
export function HelperForm({ helper, steps, assets, keySite }: HelperFormProps) {
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
        {own.map(({ name, schema, required }) => {
          const control = controlOf(name, schema, { root, required });
          return steps && name === 'steps' ? (
            <StepsView key={name} control={control} helpers={steps} most={Number(schema.maxItems)} />
          ) : (
            <ControlView key={name} control={control} />
          );
        })}
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

interface StepsViewProps {
  control: Control;
  helpers: readonly Helper[];
  most: number;
}

/** A list of steps, each with a copy of its helper's form. Their JSON is in the hidden input, which is what is sent. */
function StepsView({ control, helpers, most }: StepsViewProps) {
  const { path } = control;
  return (
    <fieldset class="steps wide">
      <legend>{path}</legend>
      <p class="hint">{`1 to ${most} helpers. Each works on the picture that the one before has made.`}</p>
      <div class="field" hidden {...dataOf(control)}>
        <input type="hidden" id="steps-json" data-input={path} data-shown-by="add-step" />
      </div>
      <ol id="steps" data-most={most} />
      <div class="field">
        <Label id="add-step" text="Next step" />
        <div class="beside">
          <select {...plainInput('add-step')}>
            {helpers.map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
          <button type="button" id="add-step-button" class="quiet-button">
            Add
          </button>
        </div>
        <p class="hint" id="add-step-hint">
          It comes after the others.
        </p>
      </div>
      {helpers.map((helper) => (
        <StepTemplate key={helper.id} id={helper.id} hint={helper.declaration.summary}>
          {stepControls(helper).map((each) => (
            <ControlView key={each.path} control={each} prefix="step" />
          ))}
        </StepTemplate>
      ))}
      <StepTemplate id="" hint="No helper of this name can be a step here." />
    </fieldset>
  );
}

/** A helper's controls in a step, where a file comes by its url alone, and the call has the picture and its format. */
function stepControls({ declaration: { files, input: root }, parameters }: Helper): Control[] {
  return parameters.properties
    .filter(({ name }) => !callParameters.includes(name))
    .map(({ name, schema, required }) => {
      const file = files.find(({ parameter }) => parameter === name);
      if (!file) return controlOf(name, schema, { root, required });
      const description = [describeFile(file), 'A public https address.'].filter(Boolean).join(' ');
      return controlOf(name, { ...schema, description, format: 'uri' }, { root, required });
    });
}

/** What the script copies for a step; it gives the copy ids of its own. */
function StepTemplate({ id, hint, children }: { id: string; hint: string; children?: ComponentChildren }) {
  return (
    <template data-step-of={id}>
      <li>
        <fieldset class="group" id="step" data-step={id} tabIndex={-1}>
          <legend />
          <p class="hint">{hint}</p>
          <div class="beside">
            {['Up', 'Down', 'Remove'].map((title) => (
              <button key={title} type="button" class="quiet-button small" data-act={title}>
                {title}
              </button>
            ))}
          </div>
          <div class="fields">{children}</div>
        </fieldset>
      </li>
    </template>
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
