import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { skipWithout } from '../../needs.js';
import { hasOpenssl, makeCertificate } from './certificate.js';

const child = fileURLToPath(new URL('shipped-child.js', import.meta.url));
const publicV4 = '93.184.216.34';
const publicV6 = '2606:4700:4700::1111';
const inNamespace = ['-Urnm', 'sh', '-ec'];

const hosts = `
${publicV4} pictures.example.com other.example.com mixed.example.com
127.0.0.1 inside.example.com mixed.example.com
::ffff:127.0.0.1 mapped.example.com
`;

/** url → what comes of it, and the addresses that were connected to. */
const cases: Record<string, [outcome: string, connected: string[]]> = {
  'https://pictures.example.com/': ['picture', [publicV4]],
  'https://pictures.example.com./': ['picture', [publicV4]],
  [`https://${publicV4}/`]: ['picture', [publicV4]],
  [`https://[${publicV6}]/`]: ['picture', [publicV6]],
  'https://pictures.example.com/?to=https://pictures.example.com/': ['picture', [publicV4, publicV4]],
  // The certificate does not name it.
  'https://other.example.com/': ['source_failed', [publicV4]],
  'https://inside.example.com/': ['source_refused', []],
  'https://mapped.example.com/': ['source_refused', []],
  'https://mixed.example.com/': ['source_refused', []],
  'https://127.0.0.1/': ['source_refused', []],
  'https://pictures.example.com/?to=https://127.0.0.1/': ['source_refused', [publicV4]],
  'https://pictures.example.com/?to=https://[::1]/': ['source_refused', [publicV4]],
  'https://pictures.example.com/?to=https://inside.example.com/': ['source_refused', [publicV4]],
  'https://pictures.example.com/?to=http://pictures.example.com/': ['source_refused', [publicV4]],
  'https://unknown.example.com/': ['source_failed', []],
};

interface Result {
  outcome: string;
  /** Addresses that were connected to; with a host behind them, requests. */
  seen: string[];
}

function missing(): string | undefined {
  if (!hasOpenssl()) return 'the openssl command';
  const script = 'ip link set lo up && mount --bind /etc/hosts /etc/hosts';
  return spawnSync('unshare', [...inNamespace, script]).status === 0
    ? undefined
    : 'user namespaces (unshare -Urnm) with the ip command';
}

describe('the source as it ships, among public addresses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'source-'));
  const file = (name: string) => join(folder, name);
  let results: Result[] = [];
  let moved: Result[] = [];
  after(() => rmSync(folder, { recursive: true }));

  before(function () {
    const lacking = missing();
    if (lacking) skipWithout(this, lacking);
    const names = `DNS:pictures.example.com,DNS:inside.example.com,IP:${publicV4},IP:${publicV6},IP:127.0.0.1,IP:::1`;
    const texts = { hosts, 'resolv.conf': 'nameserver 127.0.0.1\n', ...makeCertificate(names) };
    for (const [name, text] of Object.entries(texts)) writeFileSync(file(name), text);
    const script = `ip link set lo up; ip addr add ${publicV4}/32 dev lo; ip addr add ${publicV6}/128 dev lo nodad
      mount --bind "$1" /etc/hosts; mount --bind "$2" /etc/resolv.conf; shift 2; exec "$@"`;
    const urls = Object.keys(cases);
    const run = [process.execPath, child, file('key'), file('cert'), `${publicV4},${publicV6}`, ...urls];
    const command = [...inNamespace, script, 'sh', file('hosts'), file('resolv.conf'), ...run];
    const output = execFileSync('unshare', command, {
      encoding: 'utf8',
      timeout: 110_000,
      env: {
        PATH: process.env.PATH,
        NODE_EXTRA_CA_CERTS: file('cert'),
        // What an environment may hold that would weaken the guard if it were heeded.
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
        NODE_NO_WARNINGS: '1',
        NODE_USE_ENV_PROXY: '1',
        HTTPS_PROXY: 'http://127.0.0.1:3128',
      },
    });
    ({ results, moved } = JSON.parse(output));
  });

  for (const [index, [url, [outcome, connected]]] of Object.entries(cases).entries())
    it(`${url} ends in ${outcome}`, () => {
      const { outcome: came, seen } = results[index] as Result;
      expect([came, seen.filter((entry) => !entry.includes(' '))]).to.deep.equal([outcome, connected]);
    });

  it('uses a kept connection for the next download, and not once its name has moved inside', () => {
    const request = `${publicV4} pictures.example.com`;
    expect(moved).to.deep.equal([
      { outcome: 'picture', seen: [publicV4, request] },
      { outcome: 'picture', seen: [request] },
      { outcome: 'source_refused', seen: [] },
    ]);
  });
});
