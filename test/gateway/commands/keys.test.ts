import { expect } from 'chai';
import type { OpenKeys } from '../../../gateway/commands/open.js';
import { parseKey } from '../../../gateway/keys/model.js';
import { createKeyVerifier, type KeyVerifier } from '../../../gateway/keys/verifier.js';
import type { TestDatabase } from '../databases.js';
import { createKeys, run } from './terminal.js';

describe('commands/keys', () => {
  let database: TestDatabase;
  let open: OpenKeys;
  let verifier: KeyVerifier;

  beforeEach(async () => {
    ({ database, open } = await createKeys());
    // A gateway that runs meanwhile.
    verifier = createKeyVerifier({ store: await database.open(), pollInterval: 20 });
  });
  afterEach(async () => {
    verifier.close();
    await database.drop();
  });

  const keys = (...args: string[]) => run(open, 'keys', ...args);
  const dataOf = async (...args: string[]) => JSON.parse((await keys(...args, '--json')).stdout).data;

  async function issue(...args: string[]): Promise<{ key: string; id: string }> {
    const { stdout, exitCode } = await keys('issue', 'acme', ...args);
    expect(exitCode).to.equal(0);
    return { key: stdout.trimEnd(), id: (await dataOf('list', 'acme')).keys[0].id };
  }

  it('issue prints the key alone on stdout, and it works at once in a running gateway', async () => {
    const { stdout, stderr } = await keys(
      ...['issue', 'acme', '--label', 'ci', '--scope', 'text/*', 'media/add-border'],
    );
    const key = stdout.trimEnd();
    expect(parseKey(key)).not.to.equal(undefined);
    expect(stderr).to.include('text/*, media/add-border').and.not.include(key);
    expect(await verifier.verify(key)).to.have.nested.property('key.label', 'ci');
  });

  it('issue separates the tenant from its scopes, in any order', async () => {
    for (const args of [
      ['--scope', 'text/*', 'acme', '--scope', 'media/add-border'],
      ['acme', '--scope', 'text/*', '--scope', 'media/add-border'],
      ['acme', '--scope', 'text/*,media/add-border'],
      ['--scope', 'text/*', 'media/add-border', 'acme'],
      ['--scope=text/*', 'acme', 'media/add-border'],
    ]) {
      const scopes = ['text/*', 'media/add-border'];
      expect(await dataOf('issue', ...args), args.join(' ')).to.deep.include({ tenant: 'acme', scopes });
    }
  });

  it('issue accepts a time from now for --expires', async () => {
    const end = Date.parse((await dataOf('issue', 'acme', '--expires', '30d')).expires_at);
    expect(end - Date.now()).to.be.within(30 * 86_400_000 - 60_000, 30 * 86_400_000);
  });

  it('issue names every wrong option as it was typed, and both forms of a time', async () => {
    const wrong = ['--label', '', '--scope', 'text/*', '--scope', 'txt/*', '--expires', 'soon'];
    const { stderr, exitCode } = await keys('issue', 'acme', ...wrong);
    expect(exitCode).to.equal(1);
    for (const name of ['--label must be', '--scope has the unknown scope "txt/*"', '--expires must be']) {
      expect(stderr).to.include(name);
    }
    expect(stderr).to.include('ISO 8601 day such as 2030-01-31').and.include('such as 12h or 30d');
    expect(stderr).not.to.match(/expires_at|scopes/);
    const json = await keys('issue', 'acme', ...wrong, '--json');
    expect(json).to.include({ stderr: '', exitCode: 1 });
    const fields = JSON.parse(json.stdout).error.details.map(({ field }: { field: string }) => field);
    expect(fields).to.have.members(['label', 'scope', 'expires']);
    for (const time of ['now', '0d', '999999999d', '99999999d']) {
      const late = await keys('issue', 'acme', '--expires', time);
      expect(late.exitCode).to.equal(1);
      expect(late.stderr).to.match(/^Error: --expires must be an ISO 8601 day/);
      expect(late.stderr).to.include(`"${time}"`);
    }
  });

  it('list shows an aligned table and never a key', async () => {
    const { key } = await issue('--label', 'a\u200fb');
    await issue('--expires', '2100-01-01');
    const { stdout } = await keys('list', 'acme');
    const lines = stdout.trimEnd().split('\n');
    expect(lines).to.have.length(3);
    const column = lines[0]?.indexOf('STATE') as number;
    for (const line of lines.slice(1)) expect(line.slice(column, column + 6)).to.equal('active');
    expect(stdout).to.include('2100-01-01T00:00Z').and.include('a\\u{200f}b').and.not.include(key);
  });

  it('rotate prints the new key alone and lets the old one live for its grace', async () => {
    const { key: old, id } = await issue();
    const { stdout, stderr } = await keys('rotate', id, '--grace', '15m');
    expect(stderr).to.include('The old key works until');
    expect(await verifier.verify(stdout.trimEnd())).to.include({ state: 'active' });
    expect(await verifier.verify(old)).to.include({ state: 'active' });
    expect((await keys('list', 'acme')).stdout).to.match(/hg_\w{4}…\w{4} until 20/);
  });

  it('rotate with --grace now ends the old one, and a grace has its bounds', async () => {
    const { key: old, id } = await issue();
    await keys('rotate', id, '--grace', 'now');
    await verifier.refresh();
    expect(await verifier.verify(old)).to.include({ state: 'expired' });
    const { stderr, exitCode } = await keys('rotate', id, '--grace', '91d');
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/^Error: --grace must be .*the longest is 90d/);
  });

  it('revoke is seen by a running gateway', async () => {
    const { key, id } = await issue();
    expect(await verifier.verify(key)).to.include({ state: 'active' });
    const { stdout, exitCode } = await keys('revoke', id);
    expect([exitCode, stdout.split(',')[0]]).to.deep.equal([0, `Revoked ${id}`]);
    await verifier.refresh();
    expect(await verifier.verify(key)).to.include({ state: 'revoked' });
  });

  it('prints one JSON document with --json', async () => {
    const issued = await dataOf('issue', 'acme');
    const fields = ['id', 'key', 'tenant', 'label', 'scopes', 'expires_at', 'signing_secret'];
    expect(issued).to.have.keys(fields);
    const { stdout, stderr } = await keys('rotate', issued.id, '--json');
    expect(stderr).to.equal('');
    expect(JSON.parse(stdout)).to.have.keys('ok', 'data');
    expect(JSON.parse(stdout).data).to.have.keys('id', 'key', 'previous_expires_at');
    expect((await dataOf('revoke', issued.id)).key).to.include({ id: issued.id, state: 'revoked' });
  });

  it('reports a failure in one line, and ends with 1', async () => {
    for (const [args, problem] of [
      [['issue', 'nobody'], 'There is no tenant named "nobody".'],
      [['issue', 'acme', '--scope', 'text/remove-stopword'], 'the nearest is "text/remove-stopwords"'],
      [['issue', 'acme', '--expires', '2001-01-01'], '--expires is "2001-01-01", which has passed'],
      [['rotate', 'key_none'], 'There is no key with the id "key_none".'],
      [['revoke', 'key_none'], 'There is no key with the id "key_none".'],
      [['list', 'nobody'], 'There is no tenant named "nobody".'],
    ] as const) {
      const ran = await keys(...args);
      expect(ran).to.include({ stdout: '', exitCode: 1 });
      expect(ran.stderr)
        .to.match(/^Error: [^\n]+\n$/)
        .and.include(problem);
    }
  });
});

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
