import { expect } from 'chai';
import { pino } from 'pino';
import { readableLog } from '../../../gateway/observability/readable-log.js';
import { PoolError } from '../../../pool/errors.js';

/** What a terminal shows of a line of the log. */
function shown(level: 'info' | 'error', fields: object, message: string, hasColors = false): string {
  const texts: string[] = [];
  const screen = { hasColors: () => hasColors, write: (text: string) => void texts.push(text) };
  pino({ level: 'info' }, readableLog(screen))[level](fields, message);
  return texts.join('');
}

const call = { request_id: 'a1', method: 'GET', path: '/text/x', service: 'text/x', key: 'key_1', ms: 3.2 };
const failed = { ...call, status: 500, code: 'internal', tenant: 'demo' };

describe('the log on a terminal', () => {
  const site = { method: 'GET', route: '/join/:token', status: 200, user: 'u1', ms: 2 };
  for (const [what, fields, message, line] of [
    ['a call', { ...call, status: 200, tenant: 'demo' }, 'call', /^GET \/text\/x 200 3\.2 ms demo$/],
    ['a refusal', { ...call, status: 401, code: 'no_key' }, 'call', /^GET \/text\/x 401 no_key 3\.2 ms$/],
    ['a request to the site', site, 'site request', /^site GET \/join\/:token 200 2 ms$/],
    ['any other entry', { signal: 'SIGTERM' }, 'shutting down', /^shutting down \{"signal":"SIGTERM"\}$/],
  ] as const) {
    it(`shows ${what} in one short line`, () => {
      const [, text = ''] = /^\[\d\d:\d\d:\d\d\] INFO: (.*)\n$/.exec(shown('info', fields, message)) ?? [];
      expect(text).to.match(line);
    });
  }

  it('shows a fault with its stack, its cause and the id that its caller has', () => {
    const err = new Error('broken', { cause: new TypeError('deep inside') });
    expect(shown('error', { ...failed, err }, 'call failed'))
      .to.match(/ERROR: GET \/text\/x 500 internal 3\.2 ms demo a1 *\n/)
      .and.match(/Error: broken\n +at /)
      .and.match(/caused by: TypeError: deep inside\n +at /);
  });

  it('shows of a helper’s fault the message and the frames that its author can do something about', () => {
    const gateway = new URL('../../../pool/call-plugin.js', import.meta.url).href;
    const stack = [
      'TypeError: n.toFixd is not a function',
      `    at fail (${gateway}:20:26)`,
      '    at Object.handler (file:///srv/helpers/text/x.mjs:3:9)',
      '    at round (file:///srv/helpers/node_modules/rounding/index.js:7:1)',
      `    at handle (${gateway}:26:54)`,
      '    at process.processTimers (node:internal/timers:519:7)',
    ].join('\n');
    const causes = [{ name: 'Error', message: 'deep inside' }];
    const err = { ok: false, ms: 1, name: 'TypeError', message: 'n.toFixd is not a function', stack, causes };
    expect(
      shown('error', { ...failed, err }, 'call failed')
        .split('\n')
        .slice(1),
    ).to.deep.equal([
      '    TypeError: n.toFixd is not a function',
      '        at Object.handler (file:///srv/helpers/text/x.mjs:3:9)',
      '        at round (file:///srv/helpers/node_modules/rounding/index.js:7:1)',
      '    caused by Error: deep inside',
      '',
    ]);
  });

  it('says in two lines what became of a thread', () => {
    const cause = new Error('worker exited with code: 1');
    const err = new PoolError('internal', 'the worker thread ended', { cause });
    for (const each of [err, cause]) {
      each.stack = `${each.name}: ${each.message}\n    at emit (node:events:524:28)`;
    }
    expect(shown('error', { service: 'text/x', err }, 'call failed').split('\n').slice(1)).to.deep.equal([
      '    PoolError: the worker thread ended',
      '    caused by: Error: worker exited with code: 1',
      '',
    ]);
  });

  it('says why it shows no place of what is no Error', () => {
    const text = shown(
      'error',
      { service: 'text/x', err: { ok: false, ms: 1, message: 'boom' } },
      'call failed',
    );
    expect(text).to.match(
      /ERROR: call failed .*\n {4}boom \(no Error was thrown, so its place is not known\)\n$/,
    );
  });

  it('lets nobody who calls move the cursor or colour the screen', () => {
    const path = '/\u001b[2J\u009b31m';
    const text =
      shown('info', { ...call, path, status: 404, code: 'not_found' }, 'call') +
      shown('error', { err: new Error('\u001b[2J\u202e\r') }, 'helper failed');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(text).not.to.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it('has colours where the terminal has them', () => {
    expect(shown('info', {}, 'hello', true)).to.include('\u001b[32mINFO');
  });
});
