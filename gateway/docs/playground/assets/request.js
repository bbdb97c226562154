/** The call that the form describes: its sending, and the same call written down in three languages. */
import { readInput } from './fields.js';
import { filesOf } from './files.js';

/** `{ url, input, files, output }`: files by their fields, and the name of the file that the answer is to be written to, if any. */
export function requestOf(form) {
  const input = readInput(form);
  // A dry run looks at no file, and needs none.
  const files = input.dryrun ? new Map() : filesOf(form);
  const url = new URL(`/${form.dataset.service}`, location.origin).href;
  return { url, input, files, output: outputOf(input, files, form.dataset) };
}

/** A picture is written to a file, whose name says its format, where that is known. */
export function outputOf(input, files, { answer, answered = answer, extension }) {
  if (input.dryrun || answered === 'data') return undefined;
  const format = formatOf(input, files) ?? extension ?? '';
  return `result.${/^\w{1,8}$/.test(format) ? format.toLowerCase() : 'png'}`;
}

/** What the input says of the answer's format: `same` is that of the picture that is sent, which its name mostly says. */
function formatOf({ format, url }, files) {
  if (format !== 'same') return typeof format === 'string' ? format : undefined;
  const [name = url?.replace(/[?#].*/, '')] = [...files.values()].map((file) => file.name);
  return /\.(png|jpe?g|webp|gif)$/i.exec(name ?? '')?.[1];
}

/**
 * Sends a request; gives the answer `{ status, headers, bytes, ms }`, or undefined where it was cancelled. Rejects where the gateway
 * could not be reached.
 */
export async function send({ url, input, files }, { key, signal }) {
  const started = performance.now();
  const boundary = `----form${Math.random().toString(36).slice(2)}${Date.now()}`;
  const [type, body] =
    files.size === 0
      ? ['application/json', JSON.stringify(input)]
      : [`multipart/form-data; boundary=${boundary}`, multipart(boundary, formTexts(input), files)];
  const headers = { 'content-type': type, ...(key === '' ? {} : { authorization: `Bearer ${key}` }) };
  const options = { method: 'POST', signal, cache: 'no-store', credentials: 'omit', redirect: 'error' };
  try {
    const answer = await fetch(url, { ...options, headers, body });
    const bytes = await answer.blob();
    return { status: answer.status, headers: answer.headers, bytes, ms: performance.now() - started };
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
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
 * A request in one language, `curl`, `fetch` or `python`. `key` is written in place of the key: by default an expression that reads the
 * environment variable KEY; the page shows dots there.
 */
export function snippet(language, request, key) {
  return languages[language](request, key);
}

const languages = { curl, fetch: javascript, python };

function curl({ url, input, files, output }, key = '$KEY') {
  const lines = [`curl ${shell(url)}`, `-H "Authorization: Bearer ${key}"`];
  if (files.size > 0) {
    for (const [field, { name }] of files) lines.push(`-F ${shell(`${field}=@${formFile(name)}`)}`);
    for (const [name, text] of formTexts(input)) lines.push(`--form-string ${shell(`${name}=${text}`)}`);
  } else {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shell(JSON.stringify(input))}`);
  }
  // Else an error would be written into the file, as if it were the picture.
  if (output !== undefined) lines.push('--fail-with-body', `-o ${shell(output)}`);
  return lines.join(' \\\n  ');
}

/** Of the characters in a name, curl gives `,`, `;` and `"` a meaning, unless the name is in quotes; `-` alone is its standard input. */
function formFile(name) {
  if (name === '-') return './-';
  return /[,;"\\]/.test(name) ? `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : name;
}

/** A text as one word of a POSIX shell. */
function shell(text) {
  return /^[\w./:@=%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function javascript({ url, input, files, output }, key = `$\{process.env.KEY}`) {
  const lines = [];
  if (files.size > 0) lines.push("import { openAsBlob } from 'node:fs';");
  if (output !== undefined) lines.push("import { writeFile } from 'node:fs/promises';");
  if (lines.length > 0) lines.push('');
  if (files.size > 0) {
    lines.push('const body = new FormData();');
    for (const [field, { name }] of files) {
      lines.push(`body.append(${quote(field)}, await openAsBlob(${quote(name)}), ${quote(name)});`);
    }
    for (const [name, text] of formTexts(input)) lines.push(`body.append(${quote(name)}, ${quote(text)});`);
    lines.push('');
  }
  lines.push(`const response = await fetch(${quote(url)}, {`, `  method: 'POST',`);
  if (files.size > 0) {
    lines.push(`  headers: { authorization: \`Bearer ${key}\` },`, '  body,');
  } else {
    lines.push('  headers: {', `    authorization: \`Bearer ${key}\`,`);
    lines.push(`    'content-type': 'application/json',`, '  },');
    lines.push(`  body: JSON.stringify(${indent(literal(input, scripts), '  ')}),`);
  }
  lines.push('});');
  if (output === undefined) return [...lines, 'console.log(await response.json());'].join('\n');
  lines.push('if (!response.ok) throw new Error(await response.text());');
  lines.push(`await writeFile(${quote(output)}, Buffer.from(await response.arrayBuffer()));`);
  return lines.join('\n');
}

function python({ url, input, files, output }, key = '{os.environ["KEY"]}') {
  const lines = ['import os', 'import requests', '', 'response = requests.post(', `    ${double(url)},`];
  lines.push(`    headers={"Authorization": f'Bearer ${key}'},`);
  if (files.size > 0) {
    const opened = [...files].map(([field, { name }]) => `${double(field)}: open(${double(name)}, "rb")`);
    const texts = formTexts(input).map(([name, text]) => `${double(name)}: ${double(text)}`);
    lines.push(`    files={${opened.join(', ')}},`);
    if (texts.length > 0) lines.push(`    data={${texts.join(', ')}},`);
  } else {
    lines.push(`    json=${indent(literal(input, pythons), '    ')},`);
  }
  if (output === undefined) return [...lines, ')', 'print(response.json())'].join('\n');
  // Its own `raise_for_status` would hide the gateway's message.
  lines.push(')', 'if not response.ok:', '    raise SystemExit(response.text)');
  lines.push(`open(${double(output)}, "wb").write(response.content)`);
  return lines.join('\n');
}

/** The parameters as texts of a form; what is a list or an object is its JSON. */
function formTexts(input) {
  const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.entries(input).map(([name, value]) => [name, textOf(value)]);
}

/** Steps as a definition of a recipe, in which a brace begins the name of a parameter, unless it is written twice. */
export function recipeOf({ steps, format }) {
  const names = steps.map(({ use }) => use.replace(/.*\//, '')).join(', ');
  const literal = (_, value) => (typeof value === 'string' ? value.replaceAll('{', '{{') : value);
  return { summary: names.slice(0, 200), steps: JSON.parse(JSON.stringify(steps), literal), format };
}

const scripts = {
  text: quote,
  name: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)),
  words: {},
};
const pythons = { text: double, name: double, words: { true: 'True', false: 'False', null: 'None' } };

/** A JSON value as a literal of a language; one with few members on one line. */
function literal(value, language) {
  if (typeof value === 'string') return language.text(value);
  if (typeof value !== 'object' || value === null) return language.words[String(value)] ?? String(value);
  const isList = Array.isArray(value);
  const members = isList
    ? value.map((item) => literal(item, language))
    : Object.entries(value).map(([name, member]) => `${keyed(name, language)}: ${literal(member, language)}`);
  const [open, close] = isList ? '[]' : '{}';
  if (members.length === 0) return open + close;
  const line = members.join(', ');
  if (line.length < 60 && !line.includes('\n')) return isList ? `[${line}]` : `{ ${line} }`;
  return `${open}\n${members.map((member) => `  ${indent(member, '  ')},`).join('\n')}\n${close}`;
}

/** `{__proto__: …}` would set what an object is made after, and not a member of it. */
function keyed(name, language) {
  return name === '__proto__' && language === scripts ? "['__proto__']" : language.name(name);
}

function indent(text, by) {
  return text.replaceAll('\n', `\n${by}`);
}

/** JSON's strings are Python's and JavaScript's too. */
function double(text) {
  return JSON.stringify(text)
    .replaceAll('\u007f', '\\u007f')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

function quote(text) {
  const inside = double(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inside}'`;
}
