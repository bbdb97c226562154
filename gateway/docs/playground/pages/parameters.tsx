import type { FileField } from '../../../../schemas/declared-helper.js';
import { describeFile } from '../../../../schemas/parameters/gateway-parameters.js';
import type { Helper } from '../../../helpers/registry.js';
import type { Control } from '../control.js';
import { controlOf } from '../controls.js';
import { bytes } from './amount.js';
import { Table } from './table.js';

/** What a helper takes, by name; what is inside an object by its path, as messages name it. */
export function Parameters({ helper }: { helper: Helper }) {
  const { files, input: root } = helper.declaration;
  const rows = helper.parameters.properties.flatMap(({ name, schema, required }) =>
    rowsOf(controlOf(name, schema, { root, required })),
  );
  return (
    <div class="facts-section">
      <h2 id="parameters">Parameters</h2>
      <Table label="Parameters" kind="parameters">
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
          {rows.map(({ control, among }) => (
            <ParameterRow key={`${control.path} ${among}`} control={control} among={among} />
          ))}
        </tbody>
      </Table>
    </div>
  );
}

interface Row {
  control: Control;
  /** The alternative that it is a part of: `shape.kind circle`. */
  among?: string;
}

function rowsOf(control: Control, among?: string): Row[] {
  const own = { control, ...(among === undefined ? {} : { among }) };
  if (control.kind === 'group') return [own, ...control.members.flatMap((each) => rowsOf(each, among))];
  if (control.kind !== 'variants') return [own];
  const { tag, variants } = control;
  return [
    own,
    ...variants.flatMap(({ value, members }) =>
      members.flatMap((each) => rowsOf(each, `${tag.path} ${value}`)),
    ),
  ];
}

function ParameterRow({ control, among }: Row) {
  const { path, required, allowed, description } = control;
  const notes = [...(required ? ['required'] : []), ...(among === undefined ? [] : [`with ${among}`])];
  return (
    <tr>
      <th>
        <code>{path}</code>
        {notes.length > 0 && <span class="optional"> {notes.join(' ')}</span>}
      </th>
      <td class="allowed">{short(allowed)}</td>
      <Preset value={'default' in control ? JSON.stringify(control.default) : undefined} />
      <td class="what">{description ?? ''}</td>
    </tr>
  );
}

function Preset({ value }: { value?: string | undefined }) {
  if (value !== undefined) {
    return (
      <td class="preset">
        <code>{value}</code>
      </td>
    );
  }
  return (
    <td class="preset none">
      <span class="quiet">–</span>
    </td>
  );
}

/** A file's multipart field; the parameter for its url is among the others. */
function FileRow({ file }: { file: FileField }) {
  const { field, kind, types, maxBytes } = file;
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
      <Preset />
      <td class="what">{describeFile(file) ?? 'In a multipart/form-data body.'}</td>
    </tr>
  );
}

/** A list of hundreds is in the form, where one can be chosen from it. */
function short(allowed: string): string {
  const most = 240;
  return allowed.length > most ? `${allowed.slice(0, allowed.lastIndexOf(' ', most))} …` : allowed;
}
