import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { lookup } from 'mime-types';
import type { CallInit, TestGateway } from '../harness.js';
import {
  type Asked,
  asJson,
  asText,
  failed,
  fileOf,
  type Given,
  type Outcome,
  type Surface,
  type Takes,
} from './asked.js';

function encoded(given: Given): string {
  return new URLSearchParams(given.map(([name, value]) => [name, asText(value)])).toString();
}

const boundary = 'boundary-of-parts';

/** Written by hand, as curl writes it: `FormData` makes \r\n of each \n. */
function parts({ given, files = {} }: Asked): Uint8Array<ArrayBuffer> {
  const part = (head: string, content: string | Buffer) => [
    `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`,
    content,
    '\r\n',
  ];
  const all = [
    ...given.flatMap(([name, value]) => part(`name="${name}"`, asText(value))),
    ...Object.entries(files).flatMap(([field, path]) => {
      const head = `name="${field}"; filename="${basename(path)}"\r\ncontent-type: ${lookup(path)}`;
      return part(head, readFileSync(path));
    }),
    `--${boundary}--\r\n`,
  ];
  return new Uint8Array(Buffer.concat(all.map((each) => Buffer.from(each))));
}

/** The ways of HTTP. */
export function httpSurfaces({ call }: Pick<TestGateway, 'call'>): Record<string, Surface> {
  const surface = (takes: Takes, request: (asked: Asked) => [path: string, init?: CallInit]): Surface => ({
    takes,
    async call(asked) {
      const { status, json, bytes } = await call(...request(asked));
      return outcomeOf(status, json, bytes);
    },
  });
  return {
    GET: surface('url', ({ helper, given }) => [`/${helper}?${encoded(given)}`]),
    JSON: surface('url', ({ helper, given }) => [
      `/${helper}`,
      { body: asJson(given), headers: { 'content-type': 'application/json' } },
    ]),
    form: surface('url', ({ helper, given }) => [
      `/${helper}`,
      { body: encoded(given), headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ]),
    multipart: surface('upload', (asked) => [
      `/${asked.helper}`,
      {
        body: parts(asked),
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      },
    ]),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: the envelope of any helper
function outcomeOf(status: number, json: any, bytes: Uint8Array): Outcome {
  if (status !== 200) return failed(json.error);
  return json ? { data: json.data } : fileOf(bytes);
}
