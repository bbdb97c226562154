import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** PEM. */
export interface Certificate {
  key: string;
  cert: string;
}

export function hasOpenssl(): boolean {
  return spawnSync('openssl', ['version']).status === 0;
}

/** Makes a certificate, signed by `issuer` or by itself; `names` as `DNS:a.example,IP:127.0.0.1`. */
export function makeCertificate(names: string, issuer?: Certificate): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'));
  const file = (name: string, text?: string) => {
    if (text) writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  try {
    const how = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ');
    const what = ['-subj', `/CN=${names.slice(0, 60)}`, '-addext', `subjectAltName=${names}`];
    const by = issuer ? ['-CA', file('ca', issuer.cert), '-CAkey', file('ca-key', issuer.key)] : [];
    const to = ['-keyout', file('key'), '-out', file('cert')];
    execFileSync('openssl', ['req', ...how, ...what, ...by, ...to], { stdio: 'ignore' });
    return { key: readFileSync(file('key'), 'utf8'), cert: readFileSync(file('cert'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
