import { request } from 'node:http';
import { expect } from 'chai';
import { changes, drawFrom, meaningOf } from './tamper.js';

/** Tampers with a signed url in so many ways, and calls what does not mean the same any more: each must be refused. */
export async function expectRefusals(
  base: string,
  right: string,
  { draws, seed }: { draws: number; seed: number },
): Promise<void> {
  const draw = drawFrom(seed);
  const others = Array.from({ length: draws }, () =>
    (changes[draw(changes.length)] as (typeof changes)[0])(right, draw),
  );
  const sent = [...new Set(others)].filter(
    (url) =>
      /^\/(?:media|img)\/[\x21-\x7e]*$/.test(url) && meaningOf(url.split('#')[0] ?? '') !== meaningOf(right),
  );
  expect(sent.length).to.be.greaterThan(draws / 3);
  for (const url of sent) expect(await statusOf(base, url), url).to.be.oneOf([400, 401, 403, 404]);
}

/** The status of a GET of exactly this path and query. */
function statusOf(base: string, path: string): Promise<number> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}
