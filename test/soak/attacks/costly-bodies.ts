import type { Call } from '../client.js';
import { multipart, type Part } from '../multipart.js';

/** A body that is cheap to send and dear to read. */
export interface CostlyBody {
  name: string;
  call: Call;
}

const million = 1_000_000;

function repeated(count: number, piece: (at: number) => string, between = ','): string {
  return Array.from({ length: count }, (_, at) => piece(at)).join(between);
}

function file(value: Uint8Array | string, head = ''): Part {
  return { name: 'file', filename: 'a.jpg', value, head };
}

/** In all of them the key is right; none is more than 10 MB. */
export function costlyBodies(key: string): CostlyBody[] {
  const text = `/text/remove-stopwords?ak=${key}`;
  const diff = `/text/diff-two-strings?ak=${key}`;
  const border = `/media/add-border?ak=${key}`;
  const message = (name: string, params: string, method = 'initialize') => ({
    name: `message: ${name}`,
    call: {
      path: `/mcp?ak=${key}`,
      body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}}}`,
    },
  });
  const json = (name: string, body: string, path = text) => ({ name: `json: ${name}`, call: { path, body } });
  const form = (name: string, body: string, path = text) => ({
    name: `form: ${name}`,
    call: { path, body, type: 'application/x-www-form-urlencoded' },
  });
  const parts = (name: string, list: readonly Part[], boundary?: string, path = border) => ({
    name: `multipart: ${name}`,
    call: { path, ...multipart(list, boundary) },
  });
  return [
    json('130,000 unknown names', `{${repeated(130_000, (at) => `"${at.toString(36)}":1`)}}`),
    json('names that collide', `{${repeated(70_000, (at) => `"${at * 65_536}":1`)}}`),
    json('names that collide, nested', `{"a":{${repeated(70_000, (at) => `"${at * 65_536}":1`)}}}`),
    json('one name 100,000 times', `{${repeated(100_000, () => '"text":""')}}`),
    json('500,000 levels of arrays', `{"text":${'['.repeat(500_000)}${']'.repeat(500_000)}}`),
    json('150,000 levels of objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`),
    json('an array of 500,000', `{"text":"","keep":[${repeated(500_000, () => '1')}]}`),
    json('an unknown list of 350,000 lists', `{"text":"","a":[${repeated(340_000, () => '[]')}]}`),
    json('an array of 10,000 bad words', `{"text":"","keep":[${repeated(10_000, () => '"a b"')}]}`),
    json('control characters', `{"text":"${'\\u0001'.repeat(170_000)}"}`),
    json('a string of quotes', `{"text":"${'\\"'.repeat(500_000)}"}`),
    json('a million spaces', `${' '.repeat(million)}{}`),
    json('one long number', `{"text":${'9'.repeat(million)}}`),
    json(
      'unlike lines',
      `{"a":"${repeated(60_000, (at) => at.toString(36), '\\n')}","b":"${repeated(60_000, (at) => `x${at.toString(36)}`, '\\n')}"}`,
      diff,
    ),
    message('a client of 500,000 icons', `"clientInfo":{"icons":[${repeated(500_000, () => '1')}]}`),
    message('a client of 15,000 icons', `"clientInfo":{"icons":[${repeated(15_000, () => '{}')}]}`),
    message(
      '350,000 capabilities',
      `"capabilities":{"experimental":{"a":[${repeated(350_000, () => '[]')}]}}`,
    ),
    message(
      '130,000 names',
      repeated(130_000, (at) => `"${at.toString(36)}":1`),
    ),
    message(
      'a list of 350,000',
      `"name":"media_resize","arguments":{"a":[${repeated(350_000, () => '[]')}]}`,
      'tools/call',
    ),
    form('a million &', '&'.repeat(million)),
    form(
      '500,000 names',
      repeated(500_000, () => 'a', '&'),
    ),
    form('150,000 names that collide', repeated(150_000, (at) => `${at * 65_536}`, '&').slice(0, million)),
    form('control characters', `text=${'\x01'.repeat(990_000)}`),
    form('escapes', `text=${'%01'.repeat(330_000)}`),
    form('a list of commas', `text=&keep=${','.repeat(900_000)}`),
    parts(
      '10,000 parts',
      Array.from({ length: 10_000 }, (_, at) => ({ name: `p${at}`, value: '1' })),
    ),
    parts('a disposition of filename="', [
      file('x', `Content-Disposition: form-data; name="file"; ${'filename="'.repeat(40_000)}x\r\n`),
    ]),
    parts('a file of carriage returns', [file('\r'.repeat(10_000_000))]),
    parts('a file of almost boundaries', [file('\r\n--b0undar'.repeat(900_000))]),
    parts('a file of dashes', [file('-'.repeat(10_000_000))]),
    parts('Content-Transfer-Encoding 7bit', [file('x', 'Content-Transfer-Encoding: 7bit\r\n')]),
    parts('Content-Transfer-Encoding base64', [
      file('A'.repeat(4_000_000), 'Content-Transfer-Encoding: base64\r\n'),
    ]),
    parts('a boundary called json', [file('x'.repeat(9_000_000))], 'json'),
    parts('a boundary called octet-stream', [file('x'.repeat(9_000_000))], 'octet-stream'),
    parts('a text field of 9 MB', [{ name: 'color', value: 'x'.repeat(9_000_000) }]),
    parts('control characters', [{ name: 'text', value: '\x01'.repeat(990_000) }], undefined, text),
  ];
}
