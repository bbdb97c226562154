import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Child, type Started, startChild, startedIn } from '../gateway/harness.js';
import { skipWithout } from '../needs.js';
import { root } from '../readme.js';

/** The image's root file system, as .build/rootfs.sh makes it; empty where nobody made one. */
const image = process.env.TEST_ROOTFS ?? '';

/** What the image says of how it is run. */
type ImageConfig = Record<'Env' | 'Cmd' | 'Entrypoint', string[]> & {
  User: string;
  StopSignal: string;
  Volumes: Record<string, object>;
  Healthcheck: { Test: string[] };
};

/** Why no container can be run here, if so. */
function containerNeeds(): string | undefined {
  if (!existsSync(join(image, 'app'))) return 'the folder that .build/rootfs.sh makes, in TEST_ROOTFS';
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'root, to mount the image read-only';
  return undefined;
}

function readImageConfig(): ImageConfig {
  const { Docker } = JSON.parse(readFileSync(`${image}.json`, 'utf8')) as { Docker: { config: ImageConfig } };
  return Docker.config;
}

// As a container with a read-only root is run: one's own mounts, nothing but the volume and /tmp to write to, no privilege left.
// Each step becomes the next, so that signals reach what runs in the end.
const enter = `
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount -o remount,bind,ro,nosuid "$0"
mount --rbind /proc "$0/proc"
mount --rbind /dev "$0/dev"
mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"
mount --bind "$1" "$0/data"
user=$2
shift 2
exec setpriv --no-new-privs chroot --userspec="$user" --groups= "$0" "$@"
`;

/** Runs a command in the image, as its user; `env` is added to the image's own environment. */
function runInImage(command: string[], volume: string, env: NodeJS.ProcessEnv = {}): Child {
  const { Env, User } = readImageConfig();
  const own = Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  return startChild('unshare', ['--mount', 'sh', '-c', enter, image, volume, User, ...command], {
    env: { ...own, ...env },
  });
}

const picture = join(root, 'plugins/media/example.jpg');

/** Free ports, so that nothing else on this host is in the way; what an operator would publish is the image's own. */
const ports = { PORT: '0', CONNECT_PORT: '0', HELPER_WORK_PORT: '' };
const environment = { ...ports, HELPER_DRAIN_MS: '0', HELPER_POOL_THREADS: '1' };

describe('the container', () => {
  let config: ImageConfig;
  let volume: string;
  let gateway: Child;
  let started: Started;
  let url: string;
  const owner = () => Number(config.User.split(':')[0]);

  before(async function () {
    const missing = containerNeeds();
    if (missing) skipWithout(this, missing);
    config = readImageConfig();
    // For /data, of the user that the image's own folder belongs to.
    volume = mkdtempSync(join(tmpdir(), 'volume-'));
    chownSync(volume, owner(), owner());
    gateway = runInImage([...config.Entrypoint, ...config.Cmd, '--json'], volume, environment);
    started = await gateway.until(() => startedIn(gateway.stdout()));
    url = started.url.replace('0.0.0.0', '127.0.0.1');
  });
  after(async () => {
    gateway?.process.kill('SIGKILL');
    await gateway?.ended;
    if (volume) rmSync(volume, { recursive: true });
  });

  it('runs as a numeric user that is not root, without a privilege, and can get none', () => {
    const status = readFileSync(`/proc/${gateway.process.pid}/status`, 'utf8');
    expect(config.User).to.match(/^[1-9]\d+:[1-9]\d+$/);
    expect(status).to.match(new RegExp(`^Uid:(\\s+${owner()}){4}$`, 'm'));
    expect(status)
      .to.match(/^CapEff:\s+0+$/m)
      .and.to.match(/^NoNewPrivs:\s+1$/m)
      .and.to.match(/^Groups:\s*$/m);
  });

  it('serves with its root file system read-only, with the native image engine', async () => {
    expect((await fetch(`${url}/healthz`)).status).to.equal(200);
    const ready = await fetch(`${url}/readyz`);
    expect(ready.status).to.equal(200);
    expect(await ready.text()).to.include('sharp');
    const form = new FormData();
    form.set('file', new Blob([readFileSync(picture)]), 'example.jpg');
    form.set('text', 'Ada');
    const marked = await fetch(`${url}/media/add-watermark`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${started.first_key?.key}` },
    });
    expect([marked.status, marked.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
    expect(readdirSync(volume)).to.include('gateway.db');
  });

  it('can write to its volume and to /tmp alone', async () => {
    const tried = ['/', '/app', '/app/dist', '/etc', '/home/nonroot', '/nodejs/bin', '/data', '/tmp'];
    const script = `for (const folder of ${JSON.stringify(tried)}) {
      try { fs.writeFileSync(folder + '/tried', ''); console.log(folder); } catch (error) { if (error.code !== 'EROFS') throw error; }
    }`;
    const child = runInImage(['/nodejs/bin/node', '-e', script], volume);
    expect(await child.ended, child.stderr()).to.equal(0);
    expect(child.stdout().trim().split('\n')).to.deep.equal(['/data', '/tmp']);
  });

  it('says by its own check whether it is alive', async () => {
    const [how, ...check] = config.Healthcheck.Test;
    expect(how).to.equal('CMD');
    const { port } = new URL(started.url);
    expect(await runInImage(check, volume, { PORT: port }).ended).to.equal(0);
    expect(await runInImage(check, volume, { PORT: '1', HELPER_WORK_PORT: port }).ended).to.equal(0);
    expect(await runInImage(check, volume, { PORT: '1', HELPER_WORK_PORT: '1' }).ended).to.equal(1);
  });

  it('holds no shell, compiler, package manager, development dependency, test or source', () => {
    const files = readdirSync(image, { recursive: true, encoding: 'utf8' });
    const tools =
      /(^|\/)s?bin\/(.*sh|tsc|npm|npx|corepack|yarn|apt.*|dpkg.*|gcc.*|g\+\+.*|cc|make|perl.*|python.*)$/;
    expect(files.filter((file) => tools.test(file))).to.deep.equal([]);
    const sources = /^app\/(?!node_modules\/).*(?<!\.d)\.tsx?$/;
    const others = /^app\/(dist\/test|test|\.)|^(root|home)\/.*npm|^var\/(cache|lib)\/apt/;
    expect(files.filter((file) => sources.test(file) || others.test(file))).to.deep.equal([]);
    for (const gone of ['typescript', '@types', '@typescript', 'mocha', 'playwright-core'])
      expect(existsSync(join(image, 'app/node_modules', gone)), gone).to.equal(false);
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: true }>;
    };
    const isPackage = (file: string) =>
      /(^|\/)node_modules\/(@[^/]+\/)?[^/@.]+$/.test(file) && statSync(join(image, file)).isDirectory();
    const held = files.filter(isPackage).map((file) => file.slice('app/'.length));
    expect(held.length).to.be.above(100);
    expect(held.filter((file) => lock.packages[file]?.dev !== undefined)).to.deep.equal([]);
  });

  it('belongs to root, but for the volume', () => {
    expect(statSync(join(image, 'data')).uid).to.equal(owner());
    expect(Object.keys(config.Volumes)).to.deep.equal(['/data']);
    const foreign = readdirSync(join(image, 'app'), { recursive: true, encoding: 'utf8' }).filter((file) => {
      const { uid, mode } = statSync(join(image, 'app', file));
      return uid !== 0 || (mode & 0o022) !== 0;
    });
    expect(foreign).to.deep.equal([]);
  });

  it('runs its commands beside what serves', async () => {
    const issued = runInImage([...config.Entrypoint, 'keys', 'issue', 'demo'], volume, environment);
    expect(await issued.ended, issued.stderr()).to.equal(0);
    expect(issued.stdout().trim().split('\n').at(-1)).to.match(/^hg_/);
    const help = runInImage([...config.Entrypoint, 'work', '--help'], volume, environment);
    expect(await help.ended, help.stderr()).to.equal(0);
    expect(help.stdout()).to.match(/^Usage: .*\bwork\b/);
  });

  it('ends with 0 on the signal that the image names', async () => {
    expect(config.StopSignal).to.equal('SIGTERM');
    gateway.process.kill(config.StopSignal as NodeJS.Signals);
    expect(await gateway.ended, gateway.stderr()).to.equal(0);
  });
});
