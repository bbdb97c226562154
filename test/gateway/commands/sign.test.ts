import { expect } from 'chai';
import type { OpenKeys } from '../../../gateway/commands/open.js';
import type { TestDatabase } from '../databases.js';
import { createKeys, run, runAt } from './terminal.js';

const day = 86_400;

describe('commands/sign', () => {
  let database: TestDatabase;
  let open: OpenKeys;
  let id: string;
  let secret: string | null;

  beforeEach(async () => {
    ({ database, open } = await createKeys());
    const { stdout } = await run(open, 'keys', 'issue', 'acme', '--json');
    ({ id, signing_secret: secret } = JSON.parse(stdout).data);
  });
  afterEach(() => database.drop());

  const sign = (url: string, ...more: string[]) => run(open, 'sign', url, '--key', id, ...more);
  const endOf = async (...more: string[]) =>
    JSON.parse((await sign('/img/add-border', ...more, '--json')).stdout).data.exp as number;
  const now = () => Date.now() / 1000;

  it('prints the signed url alone, for one helper and one input', async () => {
    const { stdout, stderr, exitCode } = await sign('https://h.example/media/add-border?width=3');
    expect(stdout).to.match(
      new RegExp(`^https://h\\.example/media/add-border\\?width=3&kid=${id}&exp=\\d+&sig=[\\w-]{43}\n$`),
    );
    expect(exitCode).to.equal(0);
    expect(stderr).to.include('media/add-border').and.include(id);
    const json = await sign('/text/remove-stopwords?text=a', '--json');
    expect(json.stderr).to.equal('');
    const { data } = JSON.parse(json.stdout);
    expect(data).to.have.keys('url', 'service', 'kid', 'exp', 'expires_at');
    expect(data).to.include({ service: 'text/remove-stopwords', kid: id });
  });

  it('ends in seven days and with that day, so that urls repeat', async () => {
    const exp = await endOf();
    expect(exp % day).to.equal(0);
    expect(exp - now()).to.be.within(7 * day - 60, 8 * day);
    expect((await sign('/media/add-border')).stdout).to.include(`exp=${exp}`);
  });

  it('ends when it is told, moved up to a window where one is given', async () => {
    expect((await endOf('--expires', '90s')) - now()).to.be.within(0, 91);
    const soon = Math.floor(now() / 3600) * 3600 + 30 * day + 30;
    const time = new Date(soon * 1000).toISOString();
    expect(await endOf('--expires', time)).to.equal(soon);
    expect(await endOf('--expires', time, '--window', '1h')).to.equal(soon + 3570);
    expect((await endOf('--expires', '366d')) - now()).to.be.within(366 * day - 60, 366 * day + 1);
    expect((await endOf('--window', '30d')) % (30 * day)).to.equal(0);
  });

  it('says what is wrong in one line, and ends with 1', async () => {
    for (const [args, said] of [
      [['/media/add-bordr'], 'did you mean "/media/add-border"?'],
      [['/healthz'], 'which is no helper'],
      [['/media/add-border?ak=x'], '<url> must not have the parameter ak'],
      [['/media/add-border?sig=x'], '<url> must not have the parameter sig'],
      [['/media/add-border', '--expires', '2001-01-01'], '--expires is "2001-01-01", which has passed'],
      [['/media/add-border', '--expires', 'now'], '--expires must be'],
      [['/media/add-border', '--expires', '367d'], '--expires would have the url work until 20'],
      [['/media/add-border', '--expires', '2099-01-31', '--window', '1d'], '366 days at most'],
      [['/media/add-border', '--key', 'key_none'], 'There is no key with the id "key_none".'],
    ] as const) {
      const ran = await sign(args[0], ...args.slice(1));
      expect(ran).to.include({ stdout: '', exitCode: 1 });
      expect(ran.stderr)
        .to.include(said)
        .and.match(/^Error: [^\n]+\n$/);
    }
  });

  it('notes what the key may call, a key that ends before its url, and a dry run', async () => {
    expect((await sign('/media/add-border?dryrun=1')).stderr).to.include('dry run');
    const given = ['acme', '--scope', 'text/*', '--expires', '1h', '--json'];
    id = JSON.parse((await run(open, 'keys', 'issue', ...given)).stdout).data.id;
    expect((await sign('/media/add-border')).stderr).to.include('it may call text/*');
    expect((await sign('/text/remove-stopwords')).stderr).to.include('The key expires at ');
  });

  it('is used wrongly without a key, or with a window that is none', async () => {
    expect(await run(open, 'sign', '/media/add-border')).to.include({ stdout: '', exitCode: 2 });
    for (const window of ['now', '367d', '999999999d'])
      expect(await sign('/media/add-border', '--window', window)).to.include({ stdout: '', exitCode: 2 });
  });

  it('keys signing-secret shows what the key was issued with, alone on stdout', async () => {
    const { stdout, stderr } = await run(open, 'keys', 'signing-secret', id);
    expect(stdout).to.equal(`${secret}\n`);
    expect(stderr).to.include(id).and.not.include(secret);
    const { data } = JSON.parse((await run(open, 'keys', 'signing-secret', id, '--json')).stdout);
    expect(data).to.deep.equal({ id, signing_secret: secret });
  });

  it('keys rotate-signing prints another, alone on stdout', async () => {
    const { stdout, stderr } = await run(open, 'keys', 'rotate-signing', id);
    expect(stdout)
      .to.match(/^hgs_[\w-]{43}\n$/)
      .and.not.equal(`${secret}\n`);
    expect(stderr).to.include('within 5 seconds');
    expect((await run(open, 'keys', 'signing-secret', id)).stdout).to.equal(stdout);
  });

  it('keys issue shows it on stderr, but only to a person: scripts write stderr to logs', async () => {
    const shown = await runAt(open, { isTTY: true }, 'keys', 'issue', 'acme');
    expect(shown.stdout).to.match(/^hg_\w+\n$/);
    expect(shown.stderr).to.match(/hgs_[\w-]{43}/);
    const { stdout, stderr } = await run(open, 'keys', 'issue', 'acme');
    expect(stdout).to.match(/^hg_\w+\n$/);
    expect(stderr)
      .to.match(/keys signing-secret key_\w+/)
      .and.not.include('hgs_');
  });

  it('without a master secret says which variable is missing', async () => {
    const none: OpenKeys = () => open({ signs: false });
    for (const args of [
      ['keys', 'signing-secret', id],
      ['keys', 'rotate-signing', id],
      ['sign', '/media/add-border', '--key', id],
    ]) {
      const { stderr, exitCode } = await run(none, ...args);
      expect([exitCode, stderr.includes('HELPER_SIGNING_SECRET')]).to.deep.equal([1, true]);
      expect(stderr).not.to.include('database does not answer');
    }
    expect((await run(none, 'keys', 'issue', 'acme')).exitCode).to.equal(0);
  });
});
