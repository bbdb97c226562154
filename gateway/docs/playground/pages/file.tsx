import type { FileField } from '../../../../schemas/declared-helper.js';
import { describeFile } from '../../../../schemas/parameters/gateway-parameters.js';
import { type Assets, samples } from '../assets.js';

const pictures = ['image/jpeg', 'image/png', 'image/webp', 'image/gif'];

/** A file, from the visitor's machine, from an address, or one of the samples. */
export function FileView({ file, assets }: { file: FileField; assets: Assets }) {
  const { field, parameter, kind, required, insteadOf } = file;
  const accept = file.types ?? (kind === 'image' ? pictures : undefined);
  const taken = samples.filter(({ type }) => file.types === undefined || fits(type, file.types));
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
        {describeFile(file) ?? formOf(file)} It can be dropped or pasted here.
      </p>
      {kind === 'image' && taken.length > 0 && (
        <fieldset class="samples">
          <legend class="hint">Or a sample:</legend>
          {taken.map(({ file: name, name: title }) => (
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

function formOf({ kind, types }: FileField): string {
  if (types !== undefined) return `A file of the type ${types.join(', ')}.`;
  return kind === 'image' ? 'A picture: JPEG, PNG, WebP or GIF.' : 'Any file.';
}

/** Whether a media type is among these, which may end in `/*`. */
function fits(type: string, types: readonly string[]): boolean {
  return types.some((each) => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))));
}
