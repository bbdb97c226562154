import { expect } from 'chai';
import { sign } from '../../../../gateway/jobs/webhooks/sign.js';
import { readText, root } from '../../../readme.js';
import { startChild } from '../../child.js';
import { signing } from '../../signing/signing.js';

const text = readText('gateway/jobs/webhooks/README.md');
const secret = signing.webhooks.current('ten_a', 1);

describe('gateway/jobs/webhooks/README', () => {
  it('shows a receiver that believes what is signed, and nothing else', async () => {
    const [, program = ''] = /```js\n([\s\S]*?)```/.exec(text) ?? [];
    const anywhere = program.replace(
      '.listen(9200)',
      ".listen(0, '127.0.0.1', function () { console.log('port', this.address().port) })",
    );
    const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret };
    const child = startChild(process.execPath, ['--input-type=module', '-e', anywhere], { cwd: root, env });
    const [, port] = await child.until(() => /port (\d+)/.exec(child.stdout()));
    const send = async (body: string, signed = body) => {
      const message = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1000), body: signed };
      const headers = {
        'webhook-id': message.id,
        'webhook-timestamp': String(message.timestamp),
        'webhook-signature': sign(message, secret),
      };
      return (await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body })).status;
    };
    const body = '{"type":"job.finished","timestamp":"2030-01-01T00:00:00Z","data":{"name":"Zoë"}}';
    expect(await send(body)).to.equal(204);
    expect(await send(body.replace('Zoë', 'Eve'), body)).to.equal(401);
    child.process.kill();
    await child.ended;
    expect(child.stdout()).to.include('job.finished').and.include('Zoë').and.not.include('Eve');
  });
});
