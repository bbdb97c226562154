import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { variables } from '../../schemas/config.js';
import { skipWithout } from '../needs.js';
import { readText, root } from '../readme.js';

const compose = process.env.TEST_COMPOSE ?? '';
const file = join(root, '.build', 'compose.yaml');
const secrets = ['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'HELPER_SIGNING_SECRET', 'HELPER_OPERATOR_TOKEN'];

interface Service {
  command: string[];
  environment: Record<string, string>;
  healthcheck?: object;
  depends_on?: Record<string, { condition: string }>;
  stop_grace_period?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  ports?: { host_ip: string }[];
  volumes?: { source: string; target: string }[];
}

/** What docker compose makes of the file with these variables. */
function read(env: Record<string, string>) {
  const args = ['--env-file', '/dev/null', '-f', file, 'config', '--format', 'json'];
  return spawnSync(compose, args, {
    env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env },
    encoding: 'utf8',
  });
}

describe('the compose file', () => {
  const env = Object.fromEntries(secrets.map((name, at) => [name, `${at}`.repeat(40)]));
  let services: Record<string, Service>;

  before(function () {
    if (compose === '') skipWithout(this, 'docker compose (TEST_COMPOSE)');
    const { status, stdout, stderr } = read(env);
    expect(status, stderr).to.equal(0);
    services = (JSON.parse(stdout) as { services: Record<string, Service> }).services;
  });

  it('is refused without any of the secrets, which the README has made', () => {
    const page = readText('.deploy/README.md');
    for (const name of secrets) {
      const { status, stderr } = read({ ...env, [name]: '' });
      expect([status !== 0, stderr.includes(name)], name).to.deep.equal([true, true]);
      expect(page).to.include(name);
    }
    expect(readFileSync(file, 'utf8')).not.to.match(/password: *\w/i);
  });

  it('runs gateway and worker read-only, without a privilege, with time enough to stop', () => {
    for (const name of ['gateway', 'worker']) {
      const service = services[name] as Service;
      expect(service).to.include({ read_only: true });
      expect(service.cap_drop).to.deep.equal(['ALL']);
      expect(service.security_opt).to.deep.equal(['no-new-privileges:true']);
      expect(Number.parseInt(service.stop_grace_period ?? '', 10)).to.be.at.least(22);
      for (const needed of ['postgres', 'redis']) {
        expect(service.depends_on?.[needed]?.condition).to.equal('service_healthy');
        expect(services[needed]?.healthcheck).to.be.an('object');
      }
      const known = variables.map((variable) => variable.name);
      expect(known).to.include.members(Object.keys(service.environment));
    }
    expect([services.gateway?.command, services.worker?.command]).to.deep.equal([['serve'], ['work']]);
  });

  it('opens ports to this machine alone, and lets both find the same results', () => {
    const open = Object.values(services).flatMap(({ ports }) => ports ?? []);
    expect(open.map((port) => port.host_ip)).to.deep.equal(['127.0.0.1', '127.0.0.1']);
    expect(services.gateway?.volumes).to.deep.equal(services.worker?.volumes);
  });
});
