import type { Helper } from '../../../helpers/registry.js';
import { errorsOfHelper } from '../../errors-of-helper.js';
import type { ShownLimits } from '../page.js';
import { bytes, count, seconds } from './amount.js';
import { Table } from './table.js';

/** The errors that a call of this helper can come to. */
export function Errors({ helper }: { helper: Helper }) {
  return (
    <div class="facts-section">
      <h2 id="errors">Errors</h2>
      <p class="quiet">
        Each as <code>{'{"ok": false, "error": {"code", "message", "details"?}, "meta"}'}</code>;{' '}
        <code>details</code> names every bad field at once.
      </p>
      <Table label="Errors" kind="errors">
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
