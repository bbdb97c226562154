import type { FileField } from '../../../schemas/declared-helper.js';
import { describeFile } from '../../../schemas/parameters/compile-schema.js';
import type { Helper } from '../../plugins/registry.js';
import type { Assets } from '../doc-route.js';
import { ControlView } from './control-view.js';
import { controlOf } from './controls.js';
import { KeySource, samples } from './layout.js';

interface HelperFormProps {
  helper: Helper;
  assets: Assets;
  keySite: string | undefined;
}

/** The form of a helper. Nothing in it is sent by the browser: the script makes the call, with the key in a header. */
export function HelperForm({ helper, assets, keySite }: HelperFormProps) {
  const { id, declaration, parameters } = helper;
  const { files, output, input: root } = declaration;
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
      <Examples helper={helper} />
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
      <div class="label">
        <label for="key">API key</label>
      </div>
      <div class="beside">
        <input
          id="key"
          type="password"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          aria-describedby="key-hint"
        />
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

function Examples({ helper }: { helper: Helper }) {
  const { examples } = helper.declaration;
  if (examples.length === 0) return null;
  return (
    <fieldset class="examples">
      <legend>Examples</legend>
      {examples.map(({ summary, input }, at) => (
        <button key={at} type="button" class="quiet-button small" data-example={JSON.stringify(input)}>
          {summary ?? `Example ${at + 1}`}
        </button>
      ))}
    </fieldset>
  );
}

const pictures = ['image/jpeg', 'image/png', 'image/webp', 'image/gif'];

/** A file, from the visitor's machine, from an address, or one of the samples. */
function FileView({ file, assets }: { file: FileField; assets: Assets }) {
  const { field, parameter, kind, required, insteadOf } = file;
  const accept = file.types ?? (kind === 'image' ? pictures : undefined);
  const fitting = samples.filter(({ type }) => file.types === undefined || acceptsType(type, file.types));
  const urlLabel = field === parameter ? `url of ${parameter}` : parameter;
  return (
    <div
      class="field file wide"
      data-file={field}
      data-parameter={parameter}
      data-instead-of={insteadOf}
      data-kind="file"
    >
      <div class="label">
        <label for={`f-${field}`}>{field}</label>
        {required && (
          <span class="optional" id={`f-${field}-required`}>
            {`required, or ${urlLabel}`}
          </span>
        )}
      </div>
      <div class="drop">
        <input
          id={`f-${field}`}
          type="file"
          data-input={field}
          accept={accept?.join(',')}
          aria-describedby={`${required ? `f-${field}-required ` : ''}f-${field}-hint`}
        />
        <p class="chosen" data-chosen hidden>
          <span />
          <button type="button" class="quiet-button small" data-clear>{`Remove ${field}`}</button>
        </p>
      </div>
      <p class="hint" id={`f-${field}-hint`}>
        {describeFile(file) ?? describeKind(file)} It can be dropped or pasted here.
      </p>
      {kind === 'image' && fitting.length > 0 && (
        <fieldset class="samples">
          <legend class="hint">Or a sample:</legend>
          {fitting.map(({ file: name, name: title }) => (
            <button key={name} type="button" class="quiet-button small" data-sample={assets.path(name)}>
              {title}
            </button>
          ))}
        </fieldset>
      )}
      <div class="label">
        <label for={`u-${field}`}>{urlLabel}</label>
      </div>
      <input
        id={`u-${field}`}
        type="text"
        inputMode="url"
        data-input={parameter}
        data-url
        placeholder="https://"
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`u-${field}-hint`}
      />
      <p class="hint" id={`u-${field}-hint`}>
        A public https address, in place of the file.
      </p>
    </div>
  );
}

function describeKind({ kind, types }: FileField): string {
  if (types !== undefined) return `A file of the type ${types.join(', ')}.`;
  return kind === 'image' ? 'A picture: JPEG, PNG, WebP or GIF.' : 'Any file.';
}

/** Whether a media type is among these, which may end in `/*`. */
function acceptsType(type: string, types: readonly string[]): boolean {
  return types.some((each) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
}
