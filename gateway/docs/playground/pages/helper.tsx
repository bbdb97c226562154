import { uploadsOf } from '../../../../schemas/parameters.js';
import type { Helper } from '../../../helpers/registry.js';
import type { Assets } from '../assets.js';
import type { ShownLimits } from '../page.js';
import { Errors, Limits } from './facts.js';
import { HelperForm } from './form.js';
import { Parameters } from './parameters.js';

interface HelperPageProps {
  helper: Helper;
  assets: Assets;
  limits: ShownLimits;
  keySite: string | undefined;
  /** Where the API is reached, where that is known: for what is shown without a script. */
  apiUrl: string | undefined;
}

/** A helper's page: what it is, a form to try it, its answer and the request beside it, and what there is to know of it. */
export function HelperPage({ helper, assets, limits, keySite, apiUrl }: HelperPageProps) {
  const { id, declaration } = helper;
  return (
    <>
      <nav class="crumbs" aria-label="Breadcrumb">
        {['', ...id.split('/').slice(0, -1)].map((part) =>
          part === '' ? (
            <a key="" href="/">
              Helpers
            </a>
          ) : (
            ` / ${part}`
          ),
        )}
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
        <HelperForm helper={helper} assets={assets} keySite={keySite} />
        <div class="outcome">
          <section class="panel" id="result" aria-labelledby="result-title">
            <h2 id="result-title">Answer</h2>
            <p class="status-line" id="status" role="status" />
            <div id="answer">
              <p class="quiet">Fill in the form and press Send, or begin with an example.</p>
            </div>
          </section>
          <Request />
        </div>
      </div>
      {declaration.description && (
        <div class="facts-section">
          <h2 id="about">About it</h2>
          <p>{withCode(declaration.description)}</p>
        </div>
      )}
      <Parameters helper={helper} />
      <Limits helper={helper} limits={limits} />
      <Errors helper={helper} />
    </>
  );
}

const languages = [
  ['curl', 'curl'],
  ['fetch', 'fetch'],
  ['python', 'Python'],
] as const;

function Request() {
  return (
    <section class="panel request" aria-labelledby="request-title">
      <h2 id="request-title">Request</h2>
      <div class="tabs-row">
        <div class="tabs" role="tablist" aria-labelledby="request-title">
          {languages.map(([name, title], at) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              aria-controls="snippet-panel"
              aria-selected={at === 0 ? 'true' : 'false'}
              tabIndex={at === 0 ? 0 : -1}
              data-language={name}
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
      <div id="snippet-panel" role="tabpanel" aria-labelledby="tab-curl" tabIndex={0}>
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

/** Of the first example, for reading. */
function plainCurl({ id, declaration }: Helper, apiUrl: string | undefined): string {
  const { files, examples } = declaration;
  const input = examples[0]?.input ?? {};
  // A shell puts a variable's value in between double quotes alone.
  const address = apiUrl === undefined ? `"$GATEWAY/${id}"` : `'${quoted(`${apiUrl}/${id}`)}'`;
  const head = [`curl ${address}`, `-H "Authorization: Bearer $KEY"`];
  const required = uploadsOf(files, input).map((field) => `-F ${field}=@FILE`);
  const texts = Object.entries(input).map(([name, value]) => `--form-string '${name}=${quoted(value)}'`);
  const lines =
    files.length === 0
      ? [...head, `-H 'Content-Type: application/json'`, `-d '${quoted(input)}'`]
      : [...head, ...required, ...texts, '--fail-with-body', '-o result'];
  return lines.join(' \\\n  ');
}

/** A value as text between a shell's single quotes. */
function quoted(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll("'", "'\\''");
}

/** A description with what stands in backquotes as code. */
function withCode(text: string) {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part));
}
