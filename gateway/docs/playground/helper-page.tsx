import type { ComponentChildren } from 'preact';
import type { FileField } from '../../../schemas/declared-helper.js';
import { describeFile } from '../../../schemas/parameters/compile-schema.js';
import { uploadsOf } from '../../../schemas/parameters/parameters.js';
import type { Config } from '../../config.js';
import type { Helper } from '../../plugins/registry.js';
import type { Assets } from '../doc-route.js';
import { errorsOfHelper } from '../openapi/responses.js';
import { type Control, controlOf } from './controls.js';
import { HelperForm } from './form.js';

/** What pages show of the gateway: the limits of any call, and where the API is reached, where that is known. */
export type ShownConfig = Pick<
  Config,
  | 'maxTextBytes'
  | 'maxImageBytes'
  | 'maxPixels'
  | 'maxFrames'
  | 'taskTimeoutMs'
  | 'sourceTimeoutMs'
  | 'apiUrl'
>;

interface HelperPageProps {
  helper: Helper;
  /** The helpers that can be its steps, where it runs others. */
  steps: readonly Helper[] | undefined;
  assets: Assets;
  config: ShownConfig;
  keySite: string | undefined;
}

/** A helper's page: a form to try it, with the answer and the request beside it, and its reference. */
export function HelperPage({ helper, steps, assets, config, keySite }: HelperPageProps) {
  const { id, declaration } = helper;
  const { apiUrl } = config;
  return (
    <>
      <nav class="crumbs" aria-label="Breadcrumb">
        <a href="/">Helpers</a>
        {id
          .split('/')
          .slice(0, -1)
          .map((part) => ` / ${part}`)}
      </nav>
      <h1>
        <code>{id}</code>
      </h1>
      <p class="lead">{declaration.summary}</p>
      {declaration.effects && (
        <p class="notice warn">
          Each call that is no dry run changes something elsewhere. It is called by POST alone.
        </p>
      )}
      <noscript>
        <div class="notice warn plain-call">
          <p>
            Trying it on this page needs JavaScript. Without it
            {apiUrl === undefined && (
              <>
                , with this page’s address as <code>$GATEWAY</code>
              </>
            )}
            :
          </p>
          <pre>
            <code>{plainCurl(helper, apiUrl)}</code>
          </pre>
        </div>
      </noscript>
      {/* Until the script is there: it would begin with an empty form, and a press before it would be lost. */}
      <div class="bench" inert>
        <HelperForm helper={helper} steps={steps} assets={assets} keySite={keySite} />
        <div class="outcome">
          <section class="panel" id="result" aria-labelledby="result-title">
            <h2 id="result-title">Answer</h2>
            <p class="status-line" id="status" role="status" />
            <div id="answer">
              <p class="quiet">Fill in the form and press Send, or begin with an example.</p>
            </div>
          </section>
          <RequestPanel />
          {steps && <RecipePanel keySite={keySite} />}
        </div>
      </div>
      {declaration.description && (
        <Section id="about" title="About it">
          <p>{withCode(declaration.description)}</p>
        </Section>
      )}
      <Parameters helper={helper} />
      <Limits helper={helper} config={config} />
      <Errors helper={helper} />
    </>
  );
}

function RequestPanel() {
  return (
    <section class="panel request" aria-labelledby="request-title">
      <h2 id="request-title">Request</h2>
      <div class="tabs-row">
        <div class="tabs" role="tablist" aria-labelledby="request-title">
          {['curl', 'fetch', 'Python'].map((title, at) => (
            <button
              key={title}
              type="button"
              role="tab"
              id={`tab-${title.toLowerCase()}`}
              aria-controls="snippet-panel"
              aria-selected={at === 0 ? 'true' : 'false'}
              tabIndex={at === 0 ? 0 : -1}
            >
              {title}
            </button>
          ))}
        </div>
        <button type="button" id="copy-snippet" class="quiet-button small">
          Copy
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <div id="snippet-panel" class="view" role="tabpanel" aria-labelledby="tab-curl" tabIndex={0}>
        <pre>
          <code id="snippet" />
        </pre>
      </div>
      <p class="hint">
        Copied, it reads the key from the environment variable <code>KEY</code>.
      </p>
    </section>
  );
}

/** The steps as a recipe; hidden while there are none. */
function RecipePanel({ keySite }: { keySite: string | undefined }) {
  return (
    <section class="panel" id="recipe" aria-labelledby="recipe-title" hidden>
      <div class="tabs-row">
        <h2 id="recipe-title">Recipe</h2>
        <button type="button" id="copy-recipe" class="quiet-button small">
          Copy recipe
        </button>
      </div>
      <p class="hint">
        These steps under a name and with parameters of their own: write <code>{'"{width}"'}</code> in place
        of a value that callers choose.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard */}
      <section class="view json" aria-label="Recipe as JSON" tabIndex={0}>
        <code id="recipe-json" />
      </section>
      {keySite !== undefined && (
        <p>
          <a class="button quiet-button" id="make-recipe" href={new URL('/recipes/new', keySite).href}>
            Make this a recipe
          </a>
        </p>
      )}
    </section>
  );
}

/** Of the first example, for reading. */
function plainCurl({ id, declaration: { files, examples } }: Helper, apiUrl: string | undefined): string {
  const input = examples[0]?.input ?? {};
  // A shell puts a variable's value in between double quotes alone.
  const address = apiUrl === undefined ? `"$GATEWAY/${id}"` : `'${shellQuoted(`${apiUrl}/${id}`)}'`;
  const head = [`curl ${address}`, `-H "Authorization: Bearer $KEY"`];
  const required = uploadsOf(files, input).map((field) => `-F ${field}=@FILE`);
  const texts = Object.entries(input).map(([name, value]) => `--form-string '${name}=${shellQuoted(value)}'`);
  const lines =
    files.length === 0
      ? [...head, `-H 'Content-Type: application/json'`, `-d '${shellQuoted(input)}'`]
      : [...head, ...required, ...texts, '--fail-with-body', '-o result'];
  return lines.join(' \\\n  ');
}

/** A value as text between a shell's single quotes. */
function shellQuoted(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll("'", "'\\''");
}

/** A description with its backquoted parts as code. */
function withCode(text: string) {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}

function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <div class="facts-section">
      <h2 id={id}>{title}</h2>
      {children}
    </div>
  );
}

/** A table with its section's name, which scrolls sideways by itself where it is too wide, with the keyboard too. */
function Table({
  name,
  columns,
  children,
}: {
  name: string;
  columns: string[];
  children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section class="scroll" aria-label={name} tabIndex={0}>
      <table class={name.toLowerCase()}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column}>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface Row {
  name: string;
  notes: string;
  allowed: string;
  /** A default, as JSON. */
  preset?: string;
  what?: string | undefined;
}

/** A helper's files and parameters by name, and members of objects by their path, as in messages. */
function Parameters({ helper }: { helper: Helper }) {
  const { files, input: root } = helper.declaration;
  const rows = helper.parameters.properties.flatMap(({ name, schema, required }) =>
    rowsOf(controlOf(name, schema, { root, required })),
  );
  return (
    <Section id="parameters" title="Parameters">
      <Table name="Parameters" columns={['Name', 'What is allowed', 'Default', 'What for']}>
        {[...files.map(rowOfFile), ...rows].map(({ name, notes, allowed, preset, what }) => (
          <tr key={`${name} ${notes}`}>
            <th>
              <code>{name}</code>
              {notes !== '' && <span class="optional"> {notes}</span>}
            </th>
            <td class="allowed">{allowed}</td>
            <td class={preset === undefined ? 'preset none' : 'preset'}>
              {preset === undefined ? <span class="quiet">–</span> : <code>{preset}</code>}
            </td>
            <td class="what">{what}</td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}

/** `among` is the alternative that a control is a part of: `shape.kind circle`. */
function rowsOf(control: Control, among?: string): Row[] {
  const { path, required, allowed, description } = control;
  const notes = [...(required ? ['required'] : []), ...(among === undefined ? [] : [`with ${among}`])];
  const own: Row = {
    name: path,
    notes: notes.join(' '),
    allowed: short(allowed),
    ...('default' in control ? { preset: JSON.stringify(control.default) } : {}),
    what: description,
  };
  if (control.kind === 'group') return [own, ...control.members.flatMap((each) => rowsOf(each, among))];
  if (control.kind !== 'variants') return [own];
  const { tag, variants } = control;
  const inner = variants.flatMap(({ value, members }) =>
    members.flatMap((each) => rowsOf(each, `${tag.path} ${value}`)),
  );
  return [own, ...inner];
}

/** A file's multipart field; the parameter for its url is among the others. */
function rowOfFile(file: FileField): Row {
  const { field, kind, types, maxBytes } = file;
  const what = kind === 'image' ? 'an uploaded picture' : 'an uploaded file';
  const type = types === undefined ? '' : ` of the type ${types.join(', ')}`;
  const size = maxBytes === undefined ? '' : `, at most ${formatBytes(maxBytes)}`;
  return {
    name: field,
    notes: 'upload',
    allowed: what + type + size,
    what: describeFile(file) ?? 'In a multipart/form-data body.',
  };
}

/** A list of hundreds is in the form, where one can be chosen from it. */
function short(allowed: string): string {
  const most = 240;
  return allowed.length > most ? `${allowed.slice(0, allowed.lastIndexOf(' ', most))} …` : allowed;
}

function Errors({ helper }: { helper: Helper }) {
  return (
    <Section id="errors" title="Errors">
      <p class="quiet">
        Each as <code>{'{"ok": false, "error": {"code", "message", "details"?}, "meta"}'}</code>;{' '}
        <code>details</code> names every bad field at once.
      </p>
      <Table name="Errors" columns={['Status', 'Code', 'What it says']}>
        {errorsOfHelper(helper.declaration).map(({ code, status, message }) => (
          <tr key={code}>
            <td>{status}</td>
            <th>
              <code>{code}</code>
            </th>
            <td class="what">{message}</td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}

function Limits({ helper, config }: { helper: Helper; config: ShownConfig }) {
  const { files, timeoutMs = config.taskTimeoutMs } = helper.declaration;
  const facts: [string, string][] = [['JSON or form body', formatBytes(config.maxTextBytes)]];
  for (const { field, maxBytes = config.maxImageBytes } of files) {
    facts.push([`${field}, uploaded or fetched`, formatBytes(Math.min(maxBytes, config.maxImageBytes))]);
  }
  if (files.some(({ kind }) => kind === 'image')) {
    facts.push(['Pixels of a picture, all frames together', numbers.format(config.maxPixels)]);
    facts.push(['Frames of an animation', numbers.format(config.maxFrames)]);
  }
  if (files.length > 0) facts.push(['Time to fetch a url', formatSeconds(config.sourceTimeoutMs)]);
  facts.push(['Time to work', formatSeconds(timeoutMs)]);
  return (
    <Section id="limits" title="Limits">
      <dl class="limits">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">How many calls a key may make is its tenant’s; each answer says what is left.</p>
    </Section>
  );
}

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** Bytes as the configuration counts them: 1 MB is 1024 × 1024. */
function formatBytes(value: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${numbers.format(value / 1024 ** power)} ${units[power]}`;
}

function formatSeconds(ms: number): string {
  return ms < 1000 ? `${numbers.format(ms)} ms` : `${numbers.format(ms / 1000)} s`;
}
