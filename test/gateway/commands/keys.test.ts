import { expect } from 'chai';

import type { OpenKeys } from '../../../gateway/commands/open.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { parseKey } from '../../../gateway/keys/key-format.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import { onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { run } from './terminal.js';

const services = ['text/remove-stopwords', 'media/add-border'];

describe('commands/keys', () =>
  onEachDatabase((database) => {
    let open: OpenKeys;
    let verifier: KeyVerifier;

    beforeEach(async () => {
      open = async () => {
        const store = await database().open();
        return {
          admin: createKeyAdmin({ store, signing, services: () => services }),
          services,
          close: () => store.close(),
        };
      };
      // The gateway goes on running while the commands work.
      verifier = createKeyVerifier({ store: await database().open(), pollInterval: 20 });
      await run(open, 'tenants', 'create', 'acme');
    });
    afterEach(() => verifier.close());

    async function issue(...args: string[]): Promise<string> {
      const { stdout, exitCode } = await run(open, 'keys', 'issue', 'acme', ...args);
      expect(exitCode).to.equal(0);
      return stdout.trimEnd();
    }

    async function idOfOnly(): Promise<string> {
      const { stdout } = await run(open, 'keys', 'list', 'acme', '--json');
      return JSON.parse(stdout).data.keys[0].id;
    }

    it('issue prints the key alone on stdout, and it works at once in a running gateway', async () => {
      const ran = await run(
        open,
        'keys',
        'issue',
        'acme',
        '--label',
        'ci',
        '--scope',
        'text/*',
        'media/add-border',
      );
      const key = ran.stdout.trimEnd();
      expect(parseKey(key)).not.to.equal(undefined);
      expect(ran.stderr).to.include('text/*, media/add-border').and.not.include(key);
      expect(await verifier.verify(key)).to.have.nested.property('key.label', 'ci');
    });

    for (const args of [
      ['--scope', 'text/*', 'acme', '--scope', 'media/add-border'],
      ['acme', '--scope', 'text/*', '--scope', 'media/add-border'],
      ['acme', '--scope', 'text/*,media/add-border'],
      ['--scope', 'text/*', 'media/add-border', 'acme'],
      ['--scope=text/*', 'acme', 'media/add-border'],
    ]) {
      it(`issue ${args.join(' ')} tells the tenant from its scopes`, async () => {
        const { stdout, exitCode, stderr } = await run(open, 'keys', 'issue', ...args, '--json');
        expect(exitCode, stderr).to.equal(0);
        expect(JSON.parse(stdout).data).to.deep.include({
          tenant: 'acme',
          scopes: ['text/*', 'media/add-border'],
        });
      });
    }

    it('issue takes a time from now for --expires, as rotate does for --grace', async () => {
      const { stdout } = await run(open, 'keys', 'issue', 'acme', '--expires', '30d', '--json');
      const end = Date.parse(JSON.parse(stdout).data.expires_at);
      expect(end - Date.now()).to.be.within(30 * 86_400_000 - 60_000, 30 * 86_400_000);
    });

    it('issue names every option that is wrong as it was typed, and both forms of a time', async () => {
      const wrong = ['--label', '', '--scope', 'text/*', '--scope', 'txt/*', '--expires', 'soon'];
      const { stderr, exitCode } = await run(open, 'keys', 'issue', 'acme', ...wrong);
      expect(exitCode).to.equal(1);
      for (const name of ['--label must be', '--scope has the unknown scope "txt/*"', '--expires must be']) {
        expect(stderr).to.include(name);
      }
      expect(stderr).to.include('ISO 8601 day such as 2030-01-31').and.include('such as 12h or 30d');
      expect(stderr).not.to.match(/expires_at|scopes/);
      const { stdout } = await run(open, 'keys', 'issue', 'acme', ...wrong, '--json');
      const fields = JSON.parse(stdout).error.details.map(({ field }: { field: string }) => field);
      expect(fields).to.have.members(['label', 'scope', 'expires']);
    });

    for (const time of ['now', '0d', '999999999d', '99999999d']) {
      it(`issue says of --expires ${time} what was typed`, async () => {
        const { stderr, exitCode } = await run(open, 'keys', 'issue', 'acme', '--expires', time);
        expect(exitCode).to.equal(1);
        expect(stderr)
          .to.match(/^Error: --expires must be an ISO 8601 day/)
          .and.include(`"${time}"`);
      });
    }

    it('rotate says how long a grace may be', async () => {
      await issue();
      const { stderr, exitCode } = await run(open, 'keys', 'rotate', await idOfOnly(), '--grace', '91d');
      expect(exitCode).to.equal(1);
      expect(stderr)
        .to.match(/^Error: --grace must be /)
        .and.include('the longest is 90d');
    });

    it('list shows an aligned table and never a key', async () => {
      const key = await issue('--label', 'a\u200fb');
      await issue('--expires', '2100-01-01');
      const { stdout } = await run(open, 'keys', 'list', 'acme');
      const lines = stdout.trimEnd().split('\n');
      expect(lines).to.have.length(3);
      const column = lines[0]?.indexOf('STATE') as number;
      for (const line of lines.slice(1)) expect(line.slice(column, column + 6)).to.equal('active');
      expect(stdout).to.include('2100-01-01T00:00Z').and.include('a\\u{200f}b').and.not.include(key);
    });

    it('rotate prints the new key alone and lets the old one live for its grace', async () => {
      const old = await issue();
      const { stdout, stderr } = await run(open, 'keys', 'rotate', await idOfOnly(), '--grace', '15m');
      expect(stderr).to.include('The old key works until');
      expect(await verifier.verify(stdout.trimEnd())).to.include({ state: 'active' });
      expect(await verifier.verify(old)).to.include({ state: 'active' });
      expect((await run(open, 'keys', 'list', 'acme')).stdout).to.match(/hg_\w{4}…\w{4} until 20/);
    });

    it('rotate with --grace now ends the old one', async () => {
      const old = await issue();
      await run(open, 'keys', 'rotate', await idOfOnly(), '--grace', 'now');
      await verifier.refresh();
      expect(await verifier.verify(old)).to.include({ state: 'expired' });
    });

    it('revoke is seen by a running gateway', async () => {
      const key = await issue();
      expect(await verifier.verify(key)).to.include({ state: 'active' });
      const { stdout, exitCode } = await run(open, 'keys', 'revoke', await idOfOnly());
      expect([exitCode, stdout.split(',')[0]]).to.deep.equal([0, `Revoked ${await idOfOnly()}`]);
      await verifier.refresh();
      expect(await verifier.verify(key)).to.include({ state: 'revoked' });
    });

    it('gives one JSON document with --json', async () => {
      const issued = JSON.parse((await run(open, 'keys', 'issue', 'acme', '--json')).stdout);
      expect(issued).to.have.keys('ok', 'data');
      const fields = ['id', 'key', 'tenant', 'label', 'scopes', 'expires_at', 'signing_secret'];
      expect(issued.data).to.have.keys(fields);
      const rotated = await run(open, 'keys', 'rotate', issued.data.id, '--json');
      expect(JSON.parse(rotated.stdout).data).to.have.keys('id', 'key', 'previous_expires_at');
      expect(rotated.stderr).to.equal('');
      const revoked = await run(open, 'keys', 'revoke', issued.data.id, '--json');
      expect(JSON.parse(revoked.stdout).data.key).to.include({ id: issued.data.id, state: 'revoked' });
    });

    it('says what went wrong in one line, and ends with 1', async () => {
      for (const [args, said] of [
        [['issue', 'nobody'], 'There is no tenant named "nobody".'],
        [['issue', 'acme', '--scope', 'text/remove-stopword'], 'the nearest is "text/remove-stopwords"'],
        [['issue', 'acme', '--expires', '2001-01-01'], '--expires is "2001-01-01", which has passed'],
        [['rotate', 'key_none'], 'There is no key with the id "key_none".'],
        [['revoke', 'key_none'], 'There is no key with the id "key_none".'],
        [['list', 'nobody'], 'There is no tenant named "nobody".'],
      ] as const) {
        const ran = await run(open, 'keys', ...args);
        expect(ran).to.include({ stdout: '', exitCode: 1 });
        expect(ran.stderr)
          .to.match(/^Error: [^\n]+\n$/)
          .and.include(said);
      }
    });

    it('gives errors as JSON with --json', async () => {
      const ran = await run(open, 'keys', 'issue', 'acme', '--label', '', '--json');
      expect(ran).to.include({ stderr: '', exitCode: 1 });
      expect(JSON.parse(ran.stdout)).to.have.nested.property('error.details[0].field', 'label');
    });
  }));

describe('commands/keys, used wrongly', () => {
  const closed: OpenKeys = () => Promise.reject(new Error('The key database /data is\n locked'));

  it('ends with 2 before anything is opened', async () => {
    for (const args of [
      ['issue'],
      ['rotate', 'key_1', '--grace', '5 days'],
      ['list', 'a', '--jso'],
      ['issue', 'a', 'b'],
      ['issue', 'a', '--scope', 'ping', 'pong'],
      ['issue', '--scope', 'text/*', 'media/add-border'],
    ]) {
      const ran = await run(closed, 'keys', ...args);
      expect(ran, args.join(' ')).to.include({ stdout: '', exitCode: 2 });
      expect(ran.stderr).to.match(/^error: /);
    }
  });

  it('is an envelope with --json', async () => {
    const ran = await run(closed, 'keys', 'rotate', 'key_1', '--grace', 'soon', '--json');
    expect(ran).to.include({ stderr: '', exitCode: 2 });
    expect(JSON.parse(ran.stdout).error).to.have.property('message').that.includes('15m');
  });

  it('shows help on stdout, with 0', async () => {
    const ran = await run(closed, 'keys', '--help');
    expect(ran).to.include({ stderr: '', exitCode: 0 });
    expect(ran.stdout).to.include('issue').and.include('revoke');
  });

  it('says why the keys cannot be opened', async () => {
    const ran = await run(closed, 'keys', 'list', 'acme');
    expect(ran).to.deep.equal({
      stdout: '',
      stderr: 'Error: The key database /data is locked\n',
      exitCode: 1,
    });
  });
});
