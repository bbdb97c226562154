import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { secretsOf, sign } from '../../../../gateway/jobs/webhooks/sender.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { readText, root } from '../../../readme.js';
import { startChild } from '../../harness.js';
import { master, signing } from '../../signing/signing.js';

const day = 86_400_000;
const { webhooks } = createSigningSecrets([master]);

describe('jobs/webhooks/sign', () => {
  it('gives what Standard Webhooks gives for its own example', () => {
    const message = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1_614_265_330,
      body: '{"test": 2432232314}',
    };
    expect(sign(message, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).to.equal(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    );
  });

  it('gives what its library gives, whatever the body', () => {
    const secret = webhooks.current('ten_a', 1);
    for (const body of ['', '{}', '{"name":"Zoë – 🔑"}', 'x'.repeat(100_000)]) {
      const timestamp = 1_900_000_000;
      const expected = new Webhook(secret).sign('msg_1', new Date(timestamp * 1000), body);
      expect(sign({ id: 'msg_1', timestamp, body }, secret)).to.equal(expected);
    }
  });
});

describe('the secrets of webhooks', () => {
  it('have the form of Standard Webhooks, with 32 bytes behind it', () => {
    const secret = webhooks.current('ten_a', 1);
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).to.have.length(32);
  });

  it('follow from the master secret, the tenant and the version, and from no other kind', () => {
    const { webhooks: others, ...signing } = createSigningSecrets([`${master}2`]);
    const all = [
      webhooks.current('ten_a', 1),
      webhooks.current('ten_a', 2),
      webhooks.current('ten_b', 1),
      others.current('ten_a', 1),
    ];
    expect(new Set(all).size).to.equal(4);
    expect(createSigningSecrets([master]).webhooks.current('ten_a', 1)).to.equal(all[0]);
    const bytes = (text: string, from: number) => Buffer.from(text.slice(from), 'base64').toString('hex');
    expect(bytes(others.current('a', 1), 6)).not.to.equal(bytes(signing.current('a', 1), 4));
  });

  it('sign with each master secret, the first before the others', () => {
    const both = createSigningSecrets([`${master}2`, master]).webhooks;
    const signed = secretsOf(both, 'ten_a', { webhook_version: 1, webhook_rotated_at: null }, 0);
    expect(signed).to.deep.equal([both.current('ten_a', 1), webhooks.current('ten_a', 1)]);
  });

  it('sign with the version before too, for a day after a rotation', () => {
    const version = { webhook_version: 3, webhook_rotated_at: 5000 };
    const [second, third] = [2, 3].map((each) => webhooks.current('ten_a', each));
    expect(secretsOf(webhooks, 'ten_a', version, 5000 + day - 1)).to.deep.equal([third, second]);
    expect(secretsOf(webhooks, 'ten_a', version, 5000 + day)).to.deep.equal([third]);
  });

  it('are none without a master secret, which is said by its name', () => {
    const none = createSigningSecrets(undefined).webhooks;
    expect(none.available).to.equal(false);
    for (const use of [none.requireMaster, () => none.current('ten_a', 1)])
      expect(use).to.throw('HELPER_SIGNING_SECRET').with.property('code', 'storage_unavailable');
  });
});

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
