import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect } from 'chai';

/** A number from 0 up to, and without, `below`. */
type Draw = (below: number) => number;

/** Numbers that a seed repeats: the high bits of a linear congruential generator (Numerical Recipes). */
export function drawFrom(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const letters = [...'abzABZ019-_.~%+=&?/#!*\'() "<>\\é\u{1f600}'];
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** What a url means, but for its signature: its path, and its parameters in no order; undefined where they can be read in no way. */
export function meaningOf(url: string): string | undefined {
  const [path = '', ...rest] = url.split('?');
  const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));
  try {
    const pairs = rest.join('?').split('&').filter(Boolean);
    const decoded = pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return JSON.stringify([decode(name), decode(value.join('='))]);
    });
    return [path, ...decoded.sort()].join('\n');
  } catch {
    return undefined;
  }
}

type Change = (url: string, draw: Draw) => string;

function splice(url: string, at: number, length: number, text: string): string {
  return url.slice(0, at) + text + url.slice(at + length);
}

function onPairs(change: (pairs: string[], draw: Draw) => void): Change {
  return (url, draw) => {
    const at = url.indexOf('?');
    const pairs = url.slice(at + 1).split('&');
    change(pairs, draw);
    return `${url.slice(0, at)}?${pairs.join('&')}`;
  };
}

/** Changes the value of one parameter. */
function inValue(name: string, change: (value: string, draw: Draw) => string): Change {
  return onPairs((pairs, draw) => {
    const at = pairs.findIndex((pair) => pair.startsWith(`${name}=`));
    if (at >= 0) pairs[at] = `${name}=${change((pairs[at] as string).slice(name.length + 1), draw)}`;
  });
}

const letter = (draw: Draw) => letters[draw(letters.length)] as string;

/** Ways to tamper with a url, on purpose or not; some leave it as it is. */
export const changes: readonly Change[] = [
  (url, draw) => splice(url, draw(url.length), 1, letter(draw)),
  (url, draw) => splice(url, draw(url.length), 0, letter(draw)),
  (url, draw) => splice(url, draw(url.length), 1 + draw(3), ''),
  (url, draw) => url.slice(0, draw(url.length)),
  (url, draw) => {
    const at = draw(url.length);
    const each = url[at] as string;
    return splice(url, at, 1, each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase());
  },
  (url, draw) => {
    const at = draw(url.length - 1);
    return splice(url, at, 2, `${url[at + 1]}${url[at]}`);
  },
  // Of bytes: one more, or another one, also what is no text.
  (url, draw) => splice(url, draw(url.length), draw(2), `%${draw(256).toString(16).padStart(2, '0')}`),
  onPairs((pairs, draw) => pairs.splice(draw(pairs.length), 1)),
  onPairs((pairs, draw) => pairs.splice(draw(pairs.length), 0, pairs[draw(pairs.length)] as string)),
  onPairs((pairs, draw) =>
    pairs.splice(draw(pairs.length), 0, `${letter(draw)}${letter(draw)}=${letter(draw)}`),
  ),
  onPairs((pairs, draw) => pairs.push(`dryrun=${draw(2)}`)),
  onPairs((pairs, draw) => {
    // The values of two parameters, one for the other.
    const [a, b] = [draw(pairs.length), draw(pairs.length)];
    const [nameA = '', valueA = ''] = (pairs[a] as string).split('=');
    const [nameB = '', valueB = ''] = (pairs[b] as string).split('=');
    [pairs[a], pairs[b]] = [`${nameA}=${valueB}`, `${nameB}=${valueA}`];
  }),
  onPairs((pairs, draw) => {
    // What stands between two parameters, moved.
    const at = draw(pairs.length);
    const pair = pairs[at] as string;
    const cut = draw(pair.length + 1);
    pairs[at] = `${pair.slice(0, cut)}${draw(2) ? '%26' : '&'}${pair.slice(cut)}`;
  }),
  // A separator that becomes part of a value, and the other way round.
  (url, draw) => {
    const codes = { '&': '%26', '=': '%3D', '%26': '&', '%3D': '=' };
    const found = [...url.matchAll(/[&=]|%26|%3D/g)];
    const { 0: text, index } = found[draw(found.length)] as RegExpMatchArray & { index: number };
    return splice(url, index, text.length, codes[text as keyof typeof codes]);
  },
  (url) => url.replace(/^\/media\//, '/img/').replace(/^\/text\//, '/media/'),
  (url) => (url.startsWith('/img/') ? url.replace('/img/', '/media/') : url.replace('?', '/?')),
  inValue('exp', (value, draw) => String(Number(value) + draw(2_000_000) - 1_000_000)),
  inValue(
    'exp',
    (value, draw) => [`0${value}`, `${value}.0`, `+${value}`, `%20${value}`, `${value}e0`][draw(5)] as string,
  ),
  inValue('kid', (value, draw) => (draw(2) ? 'key_other' : `${value}${letter(draw)}`)),
  // Bits of the signature; the last character has two that stand for nothing.
  inValue('sig', (value, draw) => {
    const at = draw(2) ? value.length - 1 : draw(value.length);
    const bits = base64url.indexOf(value[at] as string) ^ (1 << draw(6));
    return splice(value, at, 1, base64url[bits] as string);
  }),
  inValue('sig', (value, draw) => `${value}${['=', '%3D', '==', 'A', '%20', '+', '%00', '%0A'][draw(8)]}`),
  inValue('sig', (value) => value.replaceAll('-', '%2B').replaceAll('_', '%2F')),
];

/** Other ways to write the same. */
export const rewritings: readonly Change[] = [
  onPairs((pairs, draw) => pairs.sort(() => draw(3) - 1)),
  onPairs((pairs) => pairs.reverse()),
  (url) => url.replaceAll('%20', '+'),
  (url) => url.replaceAll('+', '%20'),
  (url) => url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  (url, draw) => {
    // Any character of the query may be written as its code.
    const query = url.indexOf('?') + 1;
    const at = query + draw(url.length - query);
    const code = (url[at] as string).charCodeAt(0).toString(16);
    return /[\w.~-]/.test(url[at] as string) && !/%.?$/.test(url.slice(0, at))
      ? splice(url, at, 1, `%${code}`)
      : url;
  },
  (url) => url.replaceAll('%3A', ':').replaceAll('%2F', '/'),
  (url) => url.replace('&', '&&'),
  (url) => `${url}&`,
];

/** Tampers with a signed url in so many ways, and calls what does not mean the same any more: each must be refused. */
export async function expectRefusals(
  base: string,
  right: string,
  { draws, seed }: { draws: number; seed: number },
): Promise<void> {
  const draw = drawFrom(seed);
  const others = Array.from({ length: draws }, () => (changes[draw(changes.length)] as Change)(right, draw));
  const meant = meaningOf(right);
  const sent = [...new Set(others)].filter(
    (url) => /^\/(?:media|img)\/[\x21-\x7e]*$/.test(url) && meaningOf(url.split('#')[0] ?? '') !== meant,
  );
  expect(sent.length).to.be.greaterThan(draws / 3);
  const { hostname, port } = new URL(base);
  for (const path of sent) {
    // Exactly this path and query, which fetch would normalize.
    const [response] = (await once(get({ hostname, port, path }), 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode, path).to.be.oneOf([400, 401, 403, 404]);
  }
}
