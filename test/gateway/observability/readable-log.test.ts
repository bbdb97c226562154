import { expect } from 'chai';
import { type Logger, pino } from 'pino';
import { readableLog } from '../../../gateway/observability/readable-log.js';
import { PoolError } from '../../../pool/errors.js';

/** A log on a terminal, and what the terminal shows. */
function logOn({ colors }: { colors: boolean }): { logger: Logger; shown: () => string } {
  let shown = '';
  const screen = {
    hasColors: () => colors,
    write(text: string) {
      shown += text;
    },
  };
  return { logger: pino({ level: 'info' }, readableLog(screen)), shown: () => shown };
}

const call = { request_id: 'a1', method: 'GET', path: '/text/x', service: 'text/x', key: 'key_1', ms: 3.2 };

describe('the log on a terminal', () => {
  it('tells of a call in one short line', () => {
    const { logger, shown } = logOn({ colors: false });
    logger.info({ ...call, status: 200, tenant: 'demo' }, 'call');
    logger.info({ ...call, status: 401, code: 'key_missing' }, 'call');
    const [first, second, ...rest] = shown().split('\n');
    expect(first).to.match(/^\[\d\d:\d\d:\d\d\] INFO: GET \/text\/x 200 3\.2 ms demo$/);
    expect(second).to.match(/\] INFO: GET \/text\/x 401 key_missing 3\.2 ms$/);
    expect(rest).to.deep.equal(['']);
  });

  it('tells of a request to the site by its route', () => {
    const { logger, shown } = logOn({ colors: false });
    logger.info({ method: 'GET', route: '/join/:token', status: 200, user: 'u1', ms: 2 }, 'site request');
    expect(shown()).to.match(/INFO: site GET \/join\/:token 200 2 ms\n$/);
  });

  it('shows a fault with its stack, its cause and the id that its caller has', () => {
    const { logger, shown } = logOn({ colors: false });
    const err = new Error('broken', { cause: new TypeError('deep inside') });
    logger.error({ ...call, status: 500, code: 'internal', tenant: 'demo', err }, 'call failed');
    expect(shown())
      .to.match(/ERROR: GET \/text\/x 500 internal 3\.2 ms demo a1 *\n/)
      .and.match(/Error: broken\n +at /)
      .and.match(/caused by: TypeError: deep inside\n +at /);
  });

  it('shows of a helper’s fault the message and the frames that its author can do something about', () => {
    const { logger, shown } = logOn({ colors: false });
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
    logger.error({ ...call, status: 500, code: 'internal', tenant: 'demo', err }, 'call failed');
    expect(shown().split('\n').slice(1)).to.deep.equal([
      '    TypeError: n.toFixd is not a function',
      '        at Object.handler (file:///srv/helpers/text/x.mjs:3:9)',
      '        at round (file:///srv/helpers/node_modules/rounding/index.js:7:1)',
      '    caused by Error: deep inside',
      '',
    ]);
  });

  it('says in two lines what became of a thread', () => {
    const { logger, shown } = logOn({ colors: false });
    const cause = new Error('worker exited with code: 1');
    const err = new PoolError('internal', 'the worker thread ended', { cause });
    for (const each of [err, cause])
      each.stack = `${each.name}: ${each.message}\n    at emit (node:events:524:28)`;
    logger.error({ service: 'text/x', err }, 'call failed');
    expect(shown().split('\n').slice(1)).to.deep.equal([
      '    PoolError: the worker thread ended',
      '    caused by: Error: worker exited with code: 1',
      '',
    ]);
  });

  it('says why it shows no place of what is no Error', () => {
    const { logger, shown } = logOn({ colors: false });
    logger.error({ service: 'text/x', err: { ok: false, ms: 1, message: 'boom' } }, 'call failed');
    expect(shown()).to.match(
      /ERROR: call failed .*\n {4}boom \(no Error was thrown, so nothing tells where\)\n$/,
    );
  });

  it('keeps what else an entry holds', () => {
    const { logger, shown } = logOn({ colors: false });
    logger.info({ signal: 'SIGTERM' }, 'shutting down');
    expect(shown()).to.match(/INFO: shutting down \{"signal":"SIGTERM"\}\n$/);
  });

  it('lets nobody who calls move the cursor or colour the screen', () => {
    const { logger, shown } = logOn({ colors: false });
    logger.info({ ...call, path: '/\u001b[2J\u009b31m', status: 404, code: 'not_found' }, 'call');
    logger.error({ err: new Error('\u001b[2J\u202e\r') }, 'helper failed');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(shown()).not.to.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it('has colours where the terminal has them', () => {
    const { logger, shown } = logOn({ colors: true });
    logger.info('hello');
    expect(shown()).to.include('\u001b[32mINFO');
  });
});
