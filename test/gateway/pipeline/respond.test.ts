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

const from = (remoteAddress: string | undefined, headers = {}, url = '/') =>
  ({ headers: { host: 'localhost:8080', ...headers }, socket: { remoteAddress }, url }) as never;
const here = from('127.0.0.1');
const report = createReportError(['/p']);

describe('createReportError', () => {
  it('shows an error of a helper in full to a caller on this host', () => {
    for (const peer of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])
      expect(report(fault, from(peer)), peer).to.include({
        code: 'internal',
        cause: fault.cause,
        message: 'The helper failed: TypeError: no; caused by disk full (/p/text/shout.mjs:3:11)',
      });
  });

  for (const [who, request] of [
    ['another host', from('192.168.1.7')],
    ['another host by IPv6', from('::ffff:10.0.0.1')],
    ['a page whose name was made to resolve here', from('127.0.0.1', { host: 'evil.example:8080' })],
    ['a client that has gone', from(undefined)],
    ['a client behind a proxy', from('127.0.0.1', { 'x-forwarded-for': '8.8.8.8' })],
    ['a client behind another proxy', from('127.0.0.1', { forwarded: 'for=8.8.8.8' })],
  ] as const)
    it(`shows nothing of it to ${who}`, () => expect(report(fault, request)).to.equal(fault));

  it('names the place also where the folder of plugins is a link', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'linked-')));
    await mkdir(join(folder, 'real'));
    await symlink('real', join(folder, 'link'));
    const cause = { ok: false, message: 'no', stack: `Error: no\n    at file://${folder}/real/a.mjs:3:11` };
    const reportIn = createReportError([join(folder, 'link')]);
    const { message } = reportIn(new GatewayError('internal', { cause }), here);
    await rm(folder, { recursive: true });
    expect(message).to.equal(`The helper failed: no (${folder}/real/a.mjs:3:11)`);
  });

  it('gives the usual reason why a thread has ended', () => {
    const cause = new Error('the worker thread ended', { cause: new Error('worker exited with code: 1') });
    expect(report(new GatewayError('internal', { cause }), here).message).to.match(
      /ended; caused by .*code: 1; a plugin must not call process\.exit$/,
    );
  });

  it('says whose time a slow helper has used, to a caller on this host alone', () => {
    const slow = new GatewayError('helper_timeout', { cause: { message: 'late', ms: 1503.4 } });
    expect(report(slow, here)).to.include({
      code: 'helper_timeout',
      message: `${slow.message} It had worked for 1503 ms; timeoutMs of its declaration, else HELPER_TASK_TIMEOUT_MS, says how long it may.`,
    });
    expect(report(slow, from('10.0.0.1'))).to.equal(slow);
  });

  it('names the problem that keeps a helper from being served at its path', () => {
    const problems = [
      { file: '/p/text/shout.mjs', reason: 'handler must be a function\nhandlr is not known' },
      { file: '/p/qr/index.js', reason: 'has no default export' },
    ];
    const lost = new GatewayError('not_found');
    const reportAt = (url: string, peer = '127.0.0.1') =>
      createReportError(['/p'], { problems: () => problems })(lost, from(peer, {}, url));
    expect(reportAt('/text/shout?text=a')).to.include({
      code: 'not_found',
      message: '/p/text/shout.mjs cannot be served: handler must be a function; handlr is not known',
    });
    expect(reportAt('/qr').message).to.include('no default export');
    for (const error of [reportAt('/text/shou'), reportAt('/text/shout', '10.0.0.1'), report(lost, here)])
      expect(error).to.equal(lost);
  });
});
