import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { GatewayError } from '../../../gateway/errors.js';
import { createReportError } from '../../../gateway/pipeline/respond.js';

const stack = `TypeError: no
    at helper (file:///other/lib.mjs:1:2)
    at dep (file:///p/node_modules/x/index.js:1:1)
    at handler (file:///p/text/shout.mjs:3:11)
    at call (file:///gateway/pool/call-plugin.js:26:54)`;
const fault = new GatewayError('internal', {
  cause: { ok: false, name: 'TypeError', message: 'no', stack, causes: [{ message: 'disk full' }] },
});

const from = (remoteAddress: string | undefined, headers = {}) =>
  ({ headers: { host: 'localhost:8080', ...headers }, socket: { remoteAddress } }) as never;
const tell = createReportError(['/p']);

describe('a fault', () => {
  for (const peer of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
    it(`is told in full to a caller on this host: ${peer}`, () => {
      const told = tell(fault, from(peer));
      expect(told.message).to.equal(
        'The helper failed: TypeError: no; caused by disk full (/p/text/shout.mjs:3:11)',
      );
      expect(told).to.include({ code: 'internal', cause: fault.cause });
    });
  }

  for (const [who, request] of [
    ['another host', from('192.168.1.7')],
    ['another host by IPv6', from('::ffff:10.0.0.1')],
    ['a page whose name was made to resolve here', from('127.0.0.1', { host: 'evil.example:8080' })],
    ['nobody any more', from(undefined)],
    ['whoever stands behind a proxy', from('127.0.0.1', { 'x-forwarded-for': '8.8.8.8' })],
    ['whoever stands behind another proxy', from('127.0.0.1', { forwarded: 'for=8.8.8.8' })],
  ] as const) {
    it(`is not told to ${who}`, () => {
      expect(tell(fault, request).message).to.equal(fault.message);
    });
  }

  it('has its place also where the folder of plugins is a link', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'linked-')));
    await mkdir(join(folder, 'real'));
    await symlink('real', join(folder, 'link'));
    const cause = { ok: false, message: 'no', stack: `Error: no\n    at file://${folder}/real/a.mjs:3:11` };
    const error = new GatewayError('internal', { cause });
    const { message } = createReportError([join(folder, 'link')])(error, from('127.0.0.1'));
    await rm(folder, { recursive: true });
    expect(message).to.equal(`The helper failed: no (${folder}/real/a.mjs:3:11)`);
  });

  it('tells of a thread that is gone the usual reason', () => {
    const cause = new Error('the worker thread ended', { cause: new Error('worker exited with code: 1') });
    const told = tell(new GatewayError('internal', { cause }), from('127.0.0.1'));
    expect(told.message).to.match(/ended; caused by .*code: 1; a plugin must not call process\.exit$/);
  });

  it('says of one that was too slow whose time it was, to a caller on this host alone', () => {
    const slow = new GatewayError('helper_timeout', { cause: { message: 'late', ms: 1503.4 } });
    expect(tell(slow, from('127.0.0.1'))).to.include({
      code: 'helper_timeout',
      message: `${slow.message} It had worked for 1503 ms; timeoutMs of its declaration, else HELPER_TASK_TIMEOUT_MS, says how long it may.`,
    });
    expect(tell(slow, from('10.0.0.1'))).to.equal(slow);
  });

  it('that keeps a helper from being served is told at its path', () => {
    const problems = [
      { file: '/p/text/shout.mjs', reason: 'handler must be a function\nhandlr is not known' },
      { file: '/p/qr/index.js', reason: 'has no default export' },
    ];
    const lost = new GatewayError('not_found');
    const at = (url: string, peer = '127.0.0.1') => ({ ...(from(peer) as object), url }) as never;
    const teller = createReportError(['/p'], { problems: () => problems });
    expect(teller(lost, at('/text/shout?text=a'))).to.include({
      code: 'not_found',
      message: '/p/text/shout.mjs cannot be served: handler must be a function; handlr is not known',
    });
    expect(teller(lost, at('/qr')).message).to.include('no default export');
    for (const request of [at('/text/shou'), at('/text/shout', '10.0.0.1')])
      expect(teller(lost, request)).to.equal(lost);
  });

  it('that is none is told as it is', () => {
    const error = new GatewayError('not_found');
    expect(tell(error, from('127.0.0.1'))).to.equal(error);
  });
});
