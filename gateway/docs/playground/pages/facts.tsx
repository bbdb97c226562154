import type { ComponentChildren } from 'preact';
import type { FileField } from '../../../../schemas/declared-helper.js';
import type { ParameterProperty } from '../../../../schemas/parameters.js';
import type { Helper } from '../../../helpers/registry.js';
import { errorsOfHelper } from '../../errors-of-helper.js';
import type { ShownLimits } from '../page.js';
import { bytes, count, seconds } from './amount.js';

/** What a helper takes, by name. */
export function Parameters({ helper }: { helper: Helper }) {
  const { files } = helper.declaration;
  return (
    <div class="facts-section">
      <h2 id="parameters">Parameters</h2>
      <Table label="Parameters">
        <thead>
          <tr>
            <th>Name</th>
            <th>What is allowed</th>
            <th>Default</th>
            <th>What for</th>
          </tr>
        </thead>
        <tbody>
          {files.map((file) => (
            <FileRow key={file.field} file={file} />
          ))}
          {helper.parameters.properties.map((property) => (
            <ParameterRow key={property.name} property={property} />
          ))}
        </tbody>
      </Table>
    </div>
  );
}

function ParameterRow({ property: { name, schema, required, allowed } }: { property: ParameterProperty }) {
  return (
    <tr>
      <th>
        <code>{name}</code>
        {required && <span class="optional"> required</span>}
      </th>
      <td class="allowed">{short(allowed)}</td>
      <td>
        {'default' in schema ? <code>{JSON.stringify(schema.default)}</code> : <span class="quiet">–</span>}
      </td>
      <td class="what">{typeof schema.description === 'string' ? schema.description : ''}</td>
    </tr>
  );
}

/** A file's multipart field; the parameter for its url is among the others. */
function FileRow({ file: { field, kind, types, maxBytes, description } }: { file: FileField }) {
  const what = kind === 'image' ? 'an uploaded picture' : 'an uploaded file';
  return (
    <tr>
      <th>
        <code>{field}</code>
        <span class="optional"> upload</span>
      </th>
      <td class="allowed">
        {what}
        {types && ` of the type ${types.join(', ')}`}
        {maxBytes !== undefined && `, at most ${bytes(maxBytes)}`}
      </td>
      <td>
        <span class="quiet">–</span>
      </td>
      <td class="what">{description ?? 'In a multipart/form-data body.'}</td>
    </tr>
  );
}

/** The errors that a call of this helper can come to. */
export function Errors({ helper }: { helper: Helper }) {
  return (
    <div class="facts-section">
      <h2 id="errors">Errors</h2>
      <p class="quiet">
        Each as <code>{'{"ok": false, "error": {"code", "message", "details"?}, "meta"}'}</code>;{' '}
        <code>details</code> names every bad field at once.
      </p>
      <Table label="Errors">
        <thead>
          <tr>
            <th>Status</th>
            <th>Code</th>
            <th>What it says</th>
          </tr>
        </thead>
        <tbody>
          {errorsOfHelper(helper.declaration).map(({ code, status, message }) => (
            <tr key={code}>
              <td>{status}</td>
              <th>
                <code>{code}</code>
              </th>
              <td class="what">{message}</td>
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}

/** What bounds a call of this helper here. */
export function Limits({ helper, limits }: { helper: Helper; limits: ShownLimits }) {
  const { files, timeoutMs = limits.taskTimeoutMs } = helper.declaration;
  const facts: [string, string][] = [['JSON or form body', bytes(limits.maxTextBytes)]];
  for (const { field, maxBytes } of files) {
    facts.push([
      `${field}, uploaded or fetched`,
      bytes(Math.min(maxBytes ?? limits.maxImageBytes, limits.maxImageBytes)),
    ]);
  }
  if (files.some(({ kind }) => kind === 'image')) {
    facts.push(['Pixels of a picture, all frames together', count(limits.maxPixels)]);
    facts.push(['Frames of an animation', count(limits.maxFrames)]);
  }
  if (files.length > 0) facts.push(['Time to fetch a url', seconds(limits.sourceTimeoutMs)]);
  facts.push(['Time to work', seconds(timeoutMs)]);
  return (
    <div class="facts-section">
      <h2 id="limits">Limits</h2>
      <dl class="limits">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">How many calls a key may make is its tenant’s; each answer tells what is left.</p>
    </div>
  );
}

/** A list of hundreds is in the form, where one can be chosen from it. */
function short(allowed: string): string {
  const most = 240;
  return allowed.length > most ? `${allowed.slice(0, allowed.lastIndexOf(' ', most))} …` : allowed;
}

/** A table that scrolls sideways by itself on a narrow screen, with the keyboard too. */
function Table({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>{children}</table>
    </section>
  );
}
