import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { importTimeoutMs } from '../../pool/plugin.js';
import { join } from '../../schemas/quote.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import { type Config, readConfig } from '../config.js';
import { type DatabaseReport, inspectDatabase } from '../database/inspect-database.js';
import { connectRedis, redisReason } from '../database/redis.js';
import { codeOf, reasonOf } from '../database/store-error.js';
import { writeProblem } from '../file-system.js';
import { closeServer, listen } from '../http/server.js';
import { requireFree } from '../jobs/results/folder-store.js';
import { openS3Results } from '../jobs/results/s3-store.js';
import { migrations } from '../migrations.js';
import { checkOperatorUrl } from '../notices/watch.js';
import { loadRegistry } from '../plugins/load-registry.js';
import { builtinPlugins, version } from '../plugins/paths.js';
import { masterFile, readMaster } from '../signing/signing-secrets.js';

export interface Finding {
  check: string;
  /** `hint`: it works, and could do better, or is off; `fault`: it stops a start, or what is configured does not work. */
  state: 'ok' | 'hint' | 'slow' | 'fault';
  text: string;
  /** What to do about it. */
  remedy?: string;
}

type Found = Omit<Finding, 'check'>;

interface Surroundings extends Pick<ReturnType<typeof readConfig>, 'config' | 'problems'> {
  env: NodeJS.ProcessEnv;
  /** Gets the versions of what is found, by name. */
  versions: Record<string, string>;
  /** Undefined where there is no database yet, or it cannot be opened. */
  database: DatabaseReport | undefined;
}

/** With the settings that it is about: where one of their variables is bad, there is nothing to look at. */
type Check = [name: string, reads: (keyof Config)[], run: (of: Surroundings) => Found[] | Promise<Found[]>];

/** In the order in which a start would come to them. */
const checks: Check[] = [
  ['node', [], checkNode],
  ['configuration', [], checkConfiguration],
  ['data folder', ['dataDir', 'databaseUrl', 'resultsUrl'], checkDataFolder],
  ['database', ['dataDir', 'databaseUrl'], checkDatabase],
  ['migrations', ['dataDir', 'databaseUrl'], checkMigrations],
  ['redis', ['redisUrl'], checkRedis],
  ['signing', ['dataDir', 'databaseUrl', 'signingSecret'], checkSigning],
  ['ports', ['host', 'port', 'connectHost', 'connectPort'], checkPorts],
  ['plugins', ['pluginDirs'], checkPlugins],
  ['pictures', ['imageEngine', 'fonts'], checkPictures],
  [
    'notices',
    ['noticesUrl', 'webhookOrigins'],
    ({ config }) => [ok(checkOperatorUrl(config) ? 'on the site, and to HELPER_NOTICES_URL' : 'on the site')],
  ],
  ['results', ['resultsUrl'], checkResults],
  ['threads', ['poolThreads', 'processes'], checkThreads],
];

/** Looks at all that a start needs, and changes nothing. */
export async function examine(env: NodeJS.ProcessEnv) {
  const { config, problems, bad } = readConfig(env);
  const versions: Record<string, string> = { 'helper-gateway': version, node: process.versions.node };
  const of: Surroundings = { config, env, problems, versions, database: undefined };
  const findings: Finding[] = [];
  // One after the other: together they would make each other's answers slow.
  for (const [check, reads, run] of checks) {
    if (reads.some((setting) => bad.includes(setting))) continue;
    try {
      findings.push(...(await run(of)).map((found) => ({ check, ...found })));
    } catch (error) {
      findings.push({ check, ...fault(reasonOf(error)) });
    }
  }
  return { findings, versions };
}

const ok = (text: string): Found => ({ state: 'ok', text });
const hint = (text: string, remedy: string): Found => ({ state: 'hint', text, remedy });
const slow = (text: string, remedy: string): Found => ({ state: 'slow', text, remedy });
const fault = (text: string, remedy?: string): Found => ({ state: 'fault', text, ...(remedy && { remedy }) });

/** What answers in so many milliseconds. */
function answers(what: string, ms: number, usualMs: number): Found {
  const text = `${what} answers in ${ms.toFixed(1)} ms`;
  return ms > usualMs
    ? slow(text, `At most ${usualMs} ms are usual: bring it nearer, or relieve it.`)
    : ok(text);
}

/** An older Node does not come here: see require-node.cjs. */
function checkNode(): Found[] {
  const text = `Node ${process.versions.node}`;
  const isOld = Number.parseInt(process.versions.node, 10) < 22;
  return [isOld ? hint(`${text} gets no security fixes any more`, 'Node 24 is recommended.') : ok(text)];
}

function checkConfiguration({ problems }: Surroundings): Found[] {
  return problems.length > 0 ? problems.map((problem) => fault(problem)) : [ok('every variable is valid')];
}

const otherFolder = 'Correct its rights, or choose another folder with HELPER_DATA_DIR.';

async function checkDataFolder({ config }: Surroundings): Promise<Found[]> {
  const { dataDir, databaseUrl, resultsUrl } = config;
  const folder = resolve(dataDir);
  if (databaseUrl !== undefined && resultsUrl !== undefined) return [ok('none is needed')];
  const existing = await nearestExisting(folder);
  try {
    if (!(await stat(existing)).isDirectory()) return [fault(`${existing} is no folder`, otherFolder)];
    await access(existing, constants.R_OK | constants.W_OK | constants.X_OK);
    await requireFree(existing, { bytes: 0, part: 1 });
  } catch (error) {
    return [fault(writeProblem(error, existing, existing), otherFolder)];
  }
  const { bavail, bsize } = await statfs(existing);
  const made = existing === folder ? '' : ', which the first start makes';
  return [ok(`${folder}${made}; ${((bavail * bsize) / 1024 ** 3).toFixed(1)} GB are free`)];
}

async function nearestExisting(path: string): Promise<string> {
  const isThere = await stat(path).catch((error) => codeOf(error) !== 'ENOENT');
  return isThere ? path : nearestExisting(dirname(path));
}

async function checkDatabase(of: Surroundings): Promise<Found[]> {
  const { config, versions } = of;
  const isSqlite = config.databaseUrl === undefined;
  const named = isSqlite ? resolve(config.dataDir, 'gateway.db') : 'PostgreSQL (DATABASE_URL)';
  try {
    of.database = await inspectDatabase(config);
  } catch (error) {
    const remedy = isSqlite
      ? otherFolder
      : 'Start it, or correct the address, user and password in DATABASE_URL.';
    return [fault(`${named} cannot be opened: ${reasonOf(error)}`, remedy)];
  }
  if (!of.database) return [ok(`${named}, which the first start makes`)];
  const [name = '', number = ''] = of.database.version.split(' ');
  versions[name.toLowerCase()] = number;
  const found = answers(of.database.version, of.database.roundTripMs, 20);
  return [found, ...of.database.faults.map((text) => fault(text))];
}

function checkMigrations({ config, database }: Surroundings): Found[] {
  if (!database) return [];
  const own = Object.keys(migrations(config.databaseUrl === undefined ? 'sqlite' : 'postgres'));
  const newer = database.migrations.filter((name) => !own.includes(name));
  const pending = own.filter((name) => !database.migrations.includes(name));
  if (newer.length > 0) {
    const text = `a newer version has changed the tables: ${join('and', newer)}`;
    return [fault(text, 'Run that version, or restore a back-up.')];
  }
  if (pending.length === 0) return [ok(`all ${own.length} were run`)];
  if (pending.length === own.length) return [ok('the first start makes the tables')];
  return [hint(`the next start runs ${join('and', pending)}`, 'Make a back-up first.')];
}

async function checkRedis({ config: { redisUrl: url }, versions }: Surroundings): Promise<Found[]> {
  if (url === undefined) return [ok('not used')];
  const { client, connected, reason } = connectRedis({
    url,
    commandTimeoutMs: 2_000,
    firstConnectionMs: 3_000,
  });
  try {
    await connected;
    const info = await client.info();
    const infoOf = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? '';
    versions.redis = infoOf('redis_version');
    const began = performance.now();
    await client.ping();
    const found = answers(`Redis ${versions.redis}`, performance.now() - began, 5);
    // A full disk or a replica refuses this alone.
    await client.set(`helper-gateway:doctor:${process.pid}`, '', 'PX', 1);
    if (infoOf('maxmemory_policy') === 'noeviction') return [found];
    return [found, hint('it may drop jobs when it is full', 'Set its maxmemory-policy to noeviction.')];
  } catch (error) {
    const why = (client.status === 'ready' ? undefined : reason()) ?? redisReason(error);
    return [fault(`Redis cannot be used: ${why}`, 'Start it, or correct REDIS_URL.')];
  } finally {
    client.disconnect();
  }
}

async function checkSigning({ config }: Surroundings): Promise<Found[]> {
  if (config.signingSecret) return [ok('HELPER_SIGNING_SECRET, which all gateways must share')];
  if (config.databaseUrl !== undefined) {
    const text = 'no master secret: signed urls are refused and no webhooks are sent';
    return [hint(text, 'Set HELPER_SIGNING_SECRET to the same on all gateways.')];
  }
  const file = resolve(config.dataDir, masterFile);
  if ((await readMaster(file)) === undefined) return [ok(`${file}, which the first start makes`)];
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return [ok(`${file}, for its owner alone`)];
  return [fault(`${file} is open to others than its owner`, `chmod 600 ${file}`)];
}

async function checkPorts({ config }: Surroundings): Promise<Found[]> {
  const opened: Server[] = [];
  const found: Found[] = [];
  // All open at a time, as in a gateway: two of them may be the same.
  for (const place of [
    { host: config.host, port: config.port, variable: 'PORT' },
    { host: config.connectHost, port: config.connectPort, variable: 'CONNECT_PORT' },
  ]) {
    const named = `${place.host}:${place.port} (${place.variable})`;
    const server = createServer((_, response) => response.writeHead(404).end());
    try {
      await listen(server, place);
      opened.push(server);
      found.push(ok(`${named} is free`));
    } catch (error) {
      const { message, cause } = error as Error;
      if (codeOf(cause) !== 'EADDRINUSE' || !(await isGateway(place))) found.push(fault(message));
      else found.push(ok(`${named} is served: a gateway runs`));
    }
  }
  await Promise.all(opened.map((server) => closeServer(server, 0)));
  return found;
}

async function isGateway({ host, port }: { host: string; port: number }): Promise<boolean> {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}/readyz`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(3_000) }).catch(() => undefined);
  return answer?.headers.has('x-request-id') ?? false;
}

async function checkPlugins({ config, env }: Surroundings): Promise<Found[]> {
  const found: Found[] = [];
  const remedy = 'Repair it, or move it out of the folder.';
  const registry = await loadRegistry([builtinPlugins, ...config.pluginDirs], createVocabulary(), {
    // In a thread of its own: an import may never end.
    lookMs: importTimeoutMs,
    env,
    onProblem: ({ file, reason }) => void found.push(fault(`${file}: ${reason}`, remedy)),
    onSkipped: ({ file, reason }) => void found.push(hint(`${file} ${reason}`, remedy)),
  });
  const outside = [...registry.values()].filter(({ shipped }) => !shipped);
  const count = outside.length === 0 ? '' : `, ${outside.length} of them from HELPER_PLUGINS`;
  return [ok(`${registry.size} helpers${count}`), ...found];
}

async function checkPictures({ config, versions }: Surroundings): Promise<Found[]> {
  const fonts = await createFontSet(config.fonts).catch(reasonOf);
  const found = typeof fonts === 'string' ? [fault(fonts, 'Correct HELPER_FONTS.')] : [];
  const loaded = await loadEngine(config.imageEngine, { fonts: () => createFontSet(), timeoutSeconds: 1 });
  versions[loaded.engine.name] = loaded.version;
  const text = `${loaded.engine.name} ${loaded.version}`;
  if (loaded.fallbackReason === undefined) return [ok(text), ...found];
  const remedy = 'Install sharp for this platform, or set HELPER_IMAGE_ENGINE=jimp.';
  return [slow(`${text}, since sharp cannot be loaded: ${loaded.fallbackReason}`, remedy), ...found];
}

const storeMs = 5_000;

async function checkResults({ config }: Surroundings): Promise<Found[]> {
  const { resultsUrl } = config;
  if (resultsUrl === undefined) return [ok('in the data folder')];
  try {
    const store = openS3Results(resultsUrl, config);
    const timeout = pause(storeMs, undefined, { ref: false }).then(() => {
      throw new Error(`no answer within ${storeMs / 1000} s`);
    });
    const first = store.prefixes()[Symbol.asyncIterator]().next();
    await Promise.race([first, timeout]).finally(() => void store.close().catch(() => undefined));
    return [ok('the store of HELPER_RESULTS_URL answers')];
  } catch (error) {
    const text = `the store of HELPER_RESULTS_URL cannot be used: ${reasonOf(error)}`;
    return [fault(text, 'Correct its address, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.')];
  }
}

function checkThreads({ config: { poolThreads, processes }, env }: Surroundings): Found[] {
  const [threads, cores] = [poolThreads * processes, availableParallelism()];
  const text = `${threads} worker threads on ${cores} cores`;
  const remedy = 'Lower HELPER_POOL_THREADS or HELPER_PROCESSES.';
  const found = [threads > cores ? slow(text, remedy) : ok(text)];
  if (Number(env.UV_THREADPOOL_SIZE) < poolThreads)
    found.push(slow('UV_THREADPOOL_SIZE is less than the threads, which encode on it', 'Unset it.'));
  return found;
}
