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
  it('has a default for everything that is needed', () => {
    expect(loadConfig({})).to.deep.equal({
      host: '127.0.0.1',
      port: 8080,
      connectHost: '127.0.0.1',
      connectPort: 8081,
      dataDir: '.data',
      drainMs: 2000,
      pluginDirs: [],
      poolThreads: Math.min(256, availableParallelism()),
      poolQueue: 64,
      imageEngine: 'auto',
      taskTimeoutMs: 10_000,
      sourceOrigins: [],
      sourceTimeoutMs: 10_000,
      maxImageBytes: 10 * 1024 ** 2,
      maxPixels: 40_000_000,
      maxFrames: 250,
      maxTextBytes: 1024 ** 2,
      arriving: 2000,
      inputBytes: 256 * 1024 ** 2,
      outputBytes: 256 * 1024 ** 2,
      fonts: [],
      cacheBytes: 64 * 1024 ** 2,
      cacheTtlSeconds: 3600,
      jobs: 'on',
      jobTtlSeconds: 86_400,
      maxJobBytes: 64 * 1024 ** 2,
      maxOpenJobBytes: 10 * 1024 ** 3,
      maxResultBytes: 10 * 1024 ** 3,
      processes: 1,
      connectProxies: 0,
      oidcName: 'single sign-on',
      rate: 50,
      burst: 0,
      redisOutageShare: 0.5,
      keyCache: 100_000,
      usageDays: 400,
      webhookOrigins: [],
      corsOrigins: [],
      docs: 'on',
      logLevel: 'info',
    });
  });

  it('takes an empty variable for an unset one, and leaves alone what is not its own', () => {
    const env = Object.fromEntries(variables.map(({ name }) => [name, ' ']));
    expect(loadConfig({ ...env, PATH: '/bin', NODE_ENV: 'test' })).to.deep.equal(loadConfig({}));
  });

  it('is frozen, lists and all', () => {
    const config = loadConfig({ HELPER_PLUGINS: '/a' });
    expect(Object.isFrozen(config)).to.equal(true);
    expect(Object.isFrozen(config.pluginDirs)).to.equal(true);
  });

  for (const [name, text, setting, value] of [
    ['PORT', '0', 'port', 0],
    ['HOST', '::1', 'host', '::1'],
    ['DATABASE_URL', 'postgresql://u:p@host/db', 'databaseUrl', 'postgresql://u:p@host/db'],
    ['REDIS_URL', 'rediss://host', 'redisUrl', 'rediss://host'],
    ['HELPER_PLUGINS', '/a:/b', 'pluginDirs', ['/a', '/b']],
    ['HELPER_PLUGINS', './x:x/:a/../x://b//c/', 'pluginDirs', [resolve('x'), '/b/c']],
    ['HELPER_POOL_THREADS', '3', 'poolThreads', 3],
    ['HELPER_POOL_QUEUE', '0', 'poolQueue', 0],
    ['HELPER_IMAGE_ENGINE', 'Jimp', 'imageEngine', 'jimp'],
    ['HELPER_SOURCE_ORIGINS', 'http://127.0.0.1:9100', 'sourceOrigins', ['http://127.0.0.1:9100']],
    ['HELPER_MAX_IMAGE_BYTES', '512KB', 'maxImageBytes', 524288],
    ['HELPER_MAX_PIXELS', '1M', 'maxPixels', 1_000_000],
    ['HELPER_RATE', '200', 'rate', 200],
    ['HELPER_RATE', '0', 'rate', 0],
    ['HELPER_CORS_ORIGINS', '*', 'corsOrigins', ['*']],
    ['HELPER_OPERATOR_TOKEN', 'x'.repeat(16), 'operatorToken', 'x'.repeat(16)],
    ['LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ] as const) {
    it(`reads ${name}=${text}`, () => {
      expect(loadConfig({ [name]: text })[setting]).to.deep.equal(value);
    });
  }

  for (const [name, text] of [
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['HOST', 'http://secret'],
    ['DATABASE_URL', 'mysql://user:secret@host'],
    ['REDIS_URL', 'secret'],
    ['HELPER_POOL_THREADS', '257'],
    ['HELPER_IMAGE_ENGINE', 'secret'],
    ['HELPER_TASK_TIMEOUT_MS', '9999999'],
    ['HELPER_SOURCE_ORIGINS', 'http://secret.example/path'],
    ['HELPER_MAX_IMAGE_BYTES', '99GB'],
    ['HELPER_MAX_PIXELS', '40Q'],
    ['HELPER_RATE', '-1'],
    ['HELPER_RATE', '0.5'],
    ['HELPER_OPERATOR_TOKEN', 'secret with spaces, but long enough'],
    ['HELPER_OPERATOR_TOKEN', 'secret-of-15-ch'],
    ['LOG_LEVEL', 'secret'],
  ] as const) {
    it(`refuses ${name}=${text} by its name and form, without the value`, () => {
      const [problem, ...others] = problemsOf({ [name]: text });
      expect(problem).to.match(new RegExp(`^${name} must be `));
      expect(problem).not.to.contain(text);
      expect(others).to.deep.equal([]);
    });
  }

  it('says how long an operator token has to be, and how to make one', () => {
    expect(problemsOf({ HELPER_OPERATOR_TOKEN: 'x' })).to.deep.equal([
      'HELPER_OPERATOR_TOKEN must be at least 16 printable ASCII characters without spaces (openssl rand -hex 32)',
    ]);
  });

  it('names everything at once, a line each', () => {
    expect(() => loadConfig({ PORT: 'x', HELPER_RATE: 'x', HELPER_PLUGIN: '/a' })).to.throw(
      ConfigError,
      /^The configuration is not valid:\n {2}PORT must be .*\n {2}HELPER_RATE must be .*\n {2}"HELPER_PLUGIN" is not .* mean "HELPER_PLUGINS"\?$/,
    );
  });

  it('says which variables go together where one of them is missing, with all else that is wrong', () => {
    const together =
      'HELPER_OIDC_ISSUER, HELPER_OIDC_CLIENT_ID and HELPER_OIDC_CLIENT_SECRET go together; set all or none';
    expect(problemsOf({ HELPER_OIDC_CLIENT_SECRET: 'a-secret' })).to.deep.equal([together]);
    expect(
      problemsOf({ HELPER_OIDC_ISSUER: 'https://id.example', HELPER_OIDC_CLIENT_ID: 'x', PORT: 'x' }),
    ).to.deep.equal(['PORT must be a whole number from 0 to 65535; 0 takes any free port', together]);
  });

  it('reports a bad one of variables that go together, and not that it is missing', () => {
    const env = { HELPER_OIDC_ISSUER: 'x', HELPER_OIDC_CLIENT_ID: 'x', HELPER_OIDC_CLIENT_SECRET: 'x' };
    expect(problemsOf(env)).to.deep.equal([
      'HELPER_OIDC_ISSUER must be an address that begins with http:// or https://',
    ]);
  });

  it('refuses an optional variable that cannot be read', () => {
    expect(problemsOf({ HELPER_MONTHLY_QUOTA: '1e3', HELPER_IN_FLIGHT: '-1' })).to.have.length(2);
  });

  it('refuses a HELPER_ variable that does not exist, without its value', () => {
    const [problem] = problemsOf({ HELPER_OPERATR_TOKEN: 'a-secret' });
    expect(problem).to.contain('HELPER_OPERATR_TOKEN').and.to.contain('HELPER_OPERATOR_TOKEN');
    expect(problem).not.to.contain('a-secret');
  });
});

describe('the table of variables', () => {
  it('names each variable once', () => {
    expect(new Set(variables.map(({ name }) => name)).size).to.equal(variables.length);
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
    closers.add(() => closed.push('third'));
    const error = await closers.close().catch((thrown: Error) => thrown);
    expect((error as Error).message).to.equal('second');
    expect(closed).to.deep.equal(['third', 'first']);
  });

  it('close a part that closes itself', async () => {
    const closers = new Closers();
    let closed = 0;
    const part = closers.own({ close: () => (closed += 1) });
    await closers.close();
    expect([part.close(), closed]).to.deep.equal([2, 2]);
  });

  it('close at once what is opened too late', async () => {
    const closers = new Closers();
    await closers.close();
    await new Promise<void>((resolve) => closers.add(resolve));
    closers.add(() => Promise.reject(new Error('does not matter')));
  });
});
