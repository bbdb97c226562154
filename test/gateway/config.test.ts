import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { Closers } from '../../gateway/closers.js';
import { ConfigError, loadConfig } from '../../gateway/config.js';
import { variables } from '../../schemas/config/config.js';

function problemsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('loadConfig', () => {
  // Each default stands in the README, which a test of its own compares.
  it('has a default for everything that is needed', () => {
    const config = loadConfig({});
    expect(config).to.include({ host: '127.0.0.1', connectHost: '127.0.0.1', port: 8080, connectPort: 8081 });
    expect(config).to.include({ dataDir: '.data', rate: 50, taskTimeoutMs: 10_000, connectProxies: 0 });
    expect(config).to.include({ maxImageBytes: 10 * 1024 ** 2, cacheBytes: 64 * 1024 ** 2 });
    for (const list of ['pluginDirs', 'sourceOrigins', 'webhookOrigins', 'corsOrigins'] as const)
      expect(config[list]).to.deep.equal([]);
    expect(config.poolThreads).to.equal(Math.min(256, availableParallelism()));
    const optional = 'databaseUrl redisUrl operatorToken monthlyQuota inFlight'.split(' ');
    expect(config).not.to.have.any.keys(...optional);
  });

  it('reads an empty variable as an unset one, and leaves alone what is not its own', () => {
    const env = Object.fromEntries(variables.map(({ name }) => [name, ' ']));
    expect(loadConfig({ ...env, PATH: '/bin', NODE_ENV: 'test' })).to.deep.equal(loadConfig({}));
  });

  it('is frozen, lists and all', () => {
    const config = loadConfig({ HELPER_PLUGINS: '/a' });
    expect([config, config.pluginDirs].every(Object.isFrozen)).to.equal(true);
  });

  it('reads each form of value', () => {
    for (const [variable, setting, value] of [
      ['PORT=0', 'port', 0],
      ['HOST=::1', 'host', '::1'],
      ['DATABASE_URL=postgresql://u:p@host/db', 'databaseUrl', 'postgresql://u:p@host/db'],
      ['REDIS_URL=rediss://host', 'redisUrl', 'rediss://host'],
      ['HELPER_PLUGINS=/a:/b', 'pluginDirs', ['/a', '/b']],
      ['HELPER_PLUGINS=./x:x/:a/../x://b//c/', 'pluginDirs', [resolve('x'), '/b/c']],
      ['HELPER_POOL_THREADS=3', 'poolThreads', 3],
      ['HELPER_POOL_QUEUE=0', 'poolQueue', 0],
      ['HELPER_IMAGE_ENGINE=Jimp', 'imageEngine', 'jimp'],
      ['HELPER_SOURCE_ORIGINS=http://127.0.0.1:9100', 'sourceOrigins', ['http://127.0.0.1:9100']],
      ['HELPER_MAX_IMAGE_BYTES=512KB', 'maxImageBytes', 524288],
      ['HELPER_MAX_PIXELS=1M', 'maxPixels', 1_000_000],
      ['HELPER_RATE=200', 'rate', 200],
      ['HELPER_CACHE_TTL=10m', 'cacheTtlSeconds', 600],
      ['HELPER_RATE=0', 'rate', 0],
      ['HELPER_CORS_ORIGINS=*', 'corsOrigins', ['*']],
      ['HELPER_OPERATOR_TOKEN=a-token-of-16-ch', 'operatorToken', 'a-token-of-16-ch'],
      ['LOG_LEVEL=silent', 'logLevel', 'silent'],
    ] as const) {
      const [name = '', text = ''] = variable.split('=');
      expect(loadConfig({ [name]: text })[setting], variable).to.deep.equal(value);
    }
  });

  it('refuses a bad value by the name and form of its variable, without the value', () => {
    for (const variable of [
      ...'PORT=65536 PORT=80.5 HOST=http://secret DATABASE_URL=mysql://user:secret@host'.split(' '),
      ...'REDIS_URL=secret HELPER_POOL_THREADS=257 HELPER_IMAGE_ENGINE=secret LOG_LEVEL=secret'.split(' '),
      ...'HELPER_TASK_TIMEOUT_MS=9999999 HELPER_SOURCE_ORIGINS=http://secret.example/path'.split(' '),
      ...'HELPER_MAX_IMAGE_BYTES=99GB HELPER_MAX_PIXELS=40Q HELPER_RATE=-1 HELPER_RATE=0.5'.split(' '),
      ...'HELPER_MONTHLY_QUOTA=1e3 HELPER_IN_FLIGHT=-1 HELPER_OPERATOR_TOKEN=secret-of-15-ch'.split(' '),
      'HELPER_OPERATOR_TOKEN=secret with spaces, but long enough',
    ]) {
      const [name = '', text = ''] = variable.split('=');
      const [problem, ...others] = problemsOf({ [name]: text });
      expect(problem, variable).to.contain(`${name} must be `).and.not.contain(text);
      expect(others).to.deep.equal([]);
    }
    const token = 'must be at least 16 printable ASCII characters without spaces (openssl';
    expect(problemsOf({ HELPER_OPERATOR_TOKEN: 'x' })[0]).to.contain(token);
  });

  it('names everything at once, a line each, and no value of a variable that does not exist', () => {
    const plugin = { HELPER_PLUGIN: 'a-secret' };
    expect(() => loadConfig({ PORT: 'x', HELPER_RATE: 'x', ...plugin })).to.throw(
      ConfigError,
      /^The configuration is not valid:\n {2}PORT must be .*\n {2}HELPER_RATE must be .*\n {2}"HELPER_PLUGIN" is not .* mean "HELPER_PLUGINS"\?$/,
    );
    expect(problemsOf(plugin).join()).not.to.contain('a-secret');
  });

  it('says which variables go together where one is missing, but not beside a bad one of them', () => {
    const [issuer, id, secret] = ['HELPER_OIDC_ISSUER', 'HELPER_OIDC_CLIENT_ID', 'HELPER_OIDC_CLIENT_SECRET'];
    const together = `${issuer}, ${id} and ${secret} go together; set all or none`;
    const port = 'PORT must be a whole number from 0 to 65535; 0 takes any free port';
    for (const [env, problems] of [
      [{ [secret]: 'a-secret' }, [together]],
      [{ [issuer]: 'https://id.example', [id]: 'x', PORT: 'x' }, [port, together]],
      [
        { [issuer]: 'x', [id]: 'x', [secret]: 'x' },
        [`${issuer} must be an address that begins with http:// or https://`],
      ],
    ] as const)
      expect(problemsOf(env)).to.deep.equal(problems);
  });
});

describe('closers', () => {
  it('close in the reverse order, all of them, and throw the first failure', async () => {
    const closed: string[] = [];
    const closers = new Closers();
    closers.add(() => closed.push('first'));
    closers.add(() => {
      throw new Error('second');
    });
    closers.own({ close: () => closed.push('third') });
    const error = await closers.close().catch((thrown: Error) => thrown);
    expect((error as Error).message).to.equal('second');
    expect(closed).to.deep.equal(['third', 'first']);
  });

  it('close at once what is opened too late', async () => {
    const closers = new Closers();
    await closers.close();
    await new Promise<void>((resolve) => closers.add(resolve));
    closers.add(() => Promise.reject(new Error('does not matter')));
  });
});
