/** A call written down in three languages. Nothing of a page is used here, so that what is made can be run by a test. */

/**
 * The request `{ url, input, files: [{ field, name }], answer }` in one language. `key` is written in place of the key:
 * by default an expression that reads the environment variable KEY; the page shows dots there.
 */
export function snippet(language, request, key) {
  return languages[language](request, key);
}

const languages = { curl, fetch: javascript, python };

/** A picture is written to a file; the name says its format, where that is known. */
function fileFor({ answer }) {
  return answer.kind === 'data' ? undefined : `result.${answer.extension}`;
}

function curl(request, key = '$KEY') {
  const { url, input, files } = request;
  const lines = [`curl ${shell(url)}`, `-H "Authorization: Bearer ${key}"`];
  if (files.length > 0) {
    for (const { field, name } of files) lines.push(`-F ${shell(`${field}=@${formFile(name)}`)}`);
    for (const [name, text] of formTexts(input)) lines.push(`--form-string ${shell(`${name}=${text}`)}`);
  } else {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shell(JSON.stringify(input))}`);
  }
  const file = fileFor(request);
  // Else an error would be written into the file, as if it were the picture.
  if (file !== undefined) lines.push('--fail-with-body', `-o ${shell(file)}`);
  return lines.join(' \\\n  ');
}

/** Of the characters in a name, curl gives `,`, `;` and `"` a meaning, unless the name is in quotes; `-` alone is its standard input. */
function formFile(name) {
  if (name === '-') return './-';
  return /[,;"\\]/.test(name) ? `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"` : name;
}

/** A text as one word of a POSIX shell. */
export function shell(text) {
  return /^[\w./:@=%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function javascript(request, key = `$\{process.env.KEY}`) {
  const { url, input, files } = request;
  const file = fileFor(request);
  const lines = [];
  if (files.length > 0) lines.push("import { openAsBlob } from 'node:fs';");
  if (file !== undefined) lines.push("import { writeFile } from 'node:fs/promises';");
  if (lines.length > 0) lines.push('');
  if (files.length > 0) {
    lines.push('const body = new FormData();');
    for (const { field, name } of files) {
      lines.push(`body.append(${quote(field)}, await openAsBlob(${quote(name)}), ${quote(name)});`);
    }
    for (const [name, text] of formTexts(input)) lines.push(`body.append(${quote(name)}, ${quote(text)});`);
    lines.push('');
  }
  lines.push(`const response = await fetch(${quote(url)}, {`, `  method: 'POST',`);
  if (files.length > 0) {
    lines.push(`  headers: { authorization: \`Bearer ${key}\` },`, '  body,');
  } else {
    lines.push(
      '  headers: {',
      `    authorization: \`Bearer ${key}\`,`,
      `    'content-type': 'application/json',`,
      '  },',
    );
    lines.push(`  body: JSON.stringify(${indent(literal(input, scripts), '  ')}),`);
  }
  lines.push('});');
  lines.push(...(file === undefined ? ['console.log(await response.json());'] : savedByScript(file)));
  return lines.join('\n');
}

function savedByScript(file) {
  return [
    'if (!response.ok) throw new Error(await response.text());',
    `await writeFile(${quote(file)}, Buffer.from(await response.arrayBuffer()));`,
  ];
}

function python(request, key = '{os.environ["KEY"]}') {
  const { url, input, files } = request;
  const file = fileFor(request);
  const lines = ['import os', 'import requests', '', 'response = requests.post(', `    ${double(url)},`];
  lines.push(`    headers={"Authorization": f'Bearer ${key}'},`);
  if (files.length > 0) {
    const opened = files.map(({ field, name }) => `${double(field)}: open(${double(name)}, "rb")`);
    const texts = formTexts(input).map(([name, text]) => `${double(name)}: ${double(text)}`);
    lines.push(`    files={${opened.join(', ')}},`);
    if (texts.length > 0) lines.push(`    data={${texts.join(', ')}},`);
  } else {
    lines.push(`    json=${indent(literal(input, pythons), '    ')},`);
  }
  lines.push(')');
  if (file === undefined) lines.push('print(response.json())');
  else lines.push(...savedByPython(file));
  return lines.join('\n');
}

/** Its own `raise_for_status` would hide the gateway's message. */
function savedByPython(file) {
  return [
    'if not response.ok:',
    '    raise SystemExit(response.text)',
    `open(${double(file)}, "wb").write(response.content)`,
  ];
}

/** The parameters as texts of a form; what is a list or an object is its JSON. */
export function formTexts(input) {
  return Object.entries(input).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
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
