import type { Helper } from '../../../helpers/registry.js';
import type { Assets } from '../assets.js';
import { controlOf } from '../controls.js';
import { ControlView } from './control.js';
import { FileView } from './file.js';
import { KeySource } from './key-source.js';

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
  // What needs a picture and declares no data gives a picture: the snippets want to know before the first answer.
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

/** Without a name, so that no form, address or password manager takes it along. */
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
