import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { variables } from '../../schemas/config/config.js';
import { startChild } from '../gateway/harness.js';
import { skipWithout } from '../needs.js';
import { readText, root } from '../readme.js';

const compose = process.env.TEST_COMPOSE ?? '';
const file = join(root, '.build', 'compose.yaml');
const secrets = ['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'HELPER_SIGNING_SECRET', 'HELPER_OPERATOR_TOKEN'];

interface Service {
  image: string;
  user?: string;
  command?: string[];
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
  const own = { PATH: process.env.PATH, HOME: '/nonexistent', ...env };
  return spawnSync(compose, args, { env: own, encoding: 'utf8' });
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

  it('runs everything read-only and without a privilege, and what comes from elsewhere by its digest', () => {
    for (const [name, service] of Object.entries(services)) {
      expect(service, name).to.include({ read_only: true });
      expect(service.cap_drop, name).to.deep.equal(['ALL']);
      expect(service.security_opt, name).to.deep.equal(['no-new-privileges:true']);
      if (service.image === 'helper-gateway:local') continue;
      // As root these images begin with what takes capabilities.
      expect(service.user, name).to.be.oneOf(['postgres', 'redis']);
      expect(service.image, name).to.match(/^\w+:\d+\.[\d.]+@sha256:[0-9a-f]{64}$/);
    }
  });

  it('has no secret in the arguments of a process', () => {
    for (const [name, { command = [], healthcheck = {} }] of Object.entries(services)) {
      const run = JSON.stringify([command, healthcheck]);
      for (const secret of Object.values(env)) expect(run, name).not.to.include(secret);
    }
  });

  it('starts Redis with the password all the same, and as the process that gets the signals', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'redis-'));
    const socket = join(folder, 'socket');
    const [shell = '', flag = '', script = ''] = services.redis?.command ?? [];
    // Compose writes a $ that is to stay one as two.
    const own = script.replaceAll('$$', '$').replace(' - ', ` - --port 0 --unixsocket ${socket} `);
    const REDISCLI_AUTH = env.REDIS_PASSWORD as string;
    const options = { cwd: folder, env: { PATH: process.env.PATH, REDISCLI_AUTH } };
    const redis = startChild(shell, [flag, own], options);
    const ask = (auth: string, ...command: string[]) => {
      const own = { ...options.env, REDISCLI_AUTH: auth };
      return spawnSync('redis-cli', ['-s', socket, '-e', ...command], { env: own, encoding: 'utf8' });
    };
    await redis.until(() => /ready to accept connections/i.test(redis.stdout()));
    expect(ask('', 'ping').stderr).to.include('NOAUTH');
    for (const [name, value] of Object.entries({ appendonly: 'yes', 'maxmemory-policy': 'noeviction' }))
      expect(ask(REDISCLI_AUTH, 'config', 'get', name).stdout).to.include(value);
    redis.process.kill('SIGTERM');
    expect(await redis.ended).to.equal(0);
    expect(redis.stdout()).to.include('ready to exit');
    await rm(folder, { recursive: true });
  });

  it('runs gateway and worker with time enough to stop', () => {
    for (const name of ['gateway', 'worker']) {
      const service = services[name] as Service;
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
