/** The call that the form describes, and its sending. */
import { readInput } from './fields.js';
import { filesOf } from './files.js';
import { formTexts } from './snippets.js';

/** The request as it would be sent: `{ url, input, files: Map }`. */
export function requestOf(form) {
  const input = readInput(form);
  return {
    url: new URL(`/${form.dataset.service}`, location.origin).href,
    input,
    // A dry run looks at no file, and needs none.
    files: input.dryrun ? new Map() : filesOf(form),
  };
}

/** What of it is written down: files by their names, and what kind of answer there will be. */
export function describe(request, form) {
  const known = request.input.dryrun ? 'data' : (form.dataset.answered ?? form.dataset.answer);
  return {
    url: request.url,
    input: request.input,
    files: [...request.files].map(([field, { name }]) => ({ field, name })),
    answer:
      known === 'data'
        ? { kind: 'data' }
        : {
            kind: 'file',
            extension: extensionOf(named(request) ?? form.dataset.extension),
          },
  };
}

/** What the input says of the answer's format: `same` is that of the picture that is sent, which its name mostly says. */
function named({ input: { format, url }, files }) {
  if (format !== 'same') return typeof format === 'string' ? format : undefined;
  const [name = url?.replace(/[?#].*/, '')] = [...files.values()].map((file) => file.name);
  return /\.(png|jpe?g|webp|gif)$/i.exec(name ?? '')?.[1];
}

function extensionOf(format = 'png') {
  return /^\w{1,8}$/.test(format) ? format.toLowerCase() : 'png';
}

/** The options of `fetch` for it. */
export function fetchOptions({ input, files }, { key, signal }) {
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` };
  const common = { method: 'POST', signal, cache: 'no-store', credentials: 'omit', redirect: 'error' };
  if (files.size === 0) {
    return {
      ...common,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    };
  }
  const boundary = `----form${Math.random().toString(36).slice(2)}${Date.now()}`;
  return {
    ...common,
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: multipart(boundary, formTexts(input), files),
  };
}

/** By hand, since `FormData` writes every line end of a text as CR LF: a helper would be given another text than as JSON. */
function multipart(boundary, texts, files) {
  const head = (name, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${more}\r\n\r\n`;
  const parts = texts.flatMap(([name, text]) => [head(name), text, '\r\n']);
  for (const [field, file] of files) {
    const type = file.type || 'application/octet-stream';
    parts.push(head(field, `; filename="${escaped(file.name)}"\r\nContent-Type: ${type}`), file, '\r\n');
  }
  return new Blob([...parts, `--${boundary}--\r\n`]);
}

/** As browsers write a name. */
function escaped(name) {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

/**
 * Sends a request; gives the answer, or undefined where it was cancelled:
 * `{ status, statusText, headers, bytes, ms }`. Rejects where the gateway could not be reached.
 */
export async function send(request, { key, signal }) {
  const started = performance.now();
  try {
    const response = await fetch(request.url, fetchOptions(request, { key, signal }));
    const bytes = await response.blob();
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      ms: performance.now() - started,
    };
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Runs `work(signal)` unless one is running already, which is cancelled instead; `end()` cancels it without another. */
export function oneAtATime({ started, ended }) {
  let running;
  async function run(work) {
    if (running) {
      running.abort();
      return;
    }
    running = new AbortController();
    started();
    try {
      await work(running.signal);
    } finally {
      running = undefined;
      ended();
    }
  }
  return Object.assign(run, { end: () => running?.abort() });
}
