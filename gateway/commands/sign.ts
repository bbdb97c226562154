import { type Command, InvalidArgumentError } from 'commander';
import { importTimeoutMs } from '../../pool/plugin.js';
import { asSchema } from '../../schemas/json-schema.js';
import { parseTime } from '../../schemas/keywords/future.js';
import { inputError, requireValid } from '../errors.js';
import type { KeyInputs } from '../keys/inputs.js';
import { recipeScope } from '../keys/schemas.js';
import { helperAt, helperUrl } from '../plugins/paths.js';
import { longestDays, noSignatureProblem, readUnsigned } from '../signing/signed-url.js';
import { type OpenKeys, parseDuration, parseExpiry, withKeys } from './open.js';
import { type JsonOption, jsonOption, type Terminal, usageErrors } from './output.js';

/** `sign`: a url of a helper for a web page, which shows no key. */
export function registerSign(program: Command, open: OpenKeys, terminal: Terminal): void {
  usageErrors(program.command('sign'), terminal)
    .description('Sign a url of a helper for a web page. The signed url is the last line on stdout, alone.')
    .argument('<url>', 'a helper with its parameters, whole or from its path on; in quotes, for the & in it')
    .requiredOption('--key <id>', 'whose call it is, from keys list')
    .option(
      '--expires <time>',
      'a time from now, e.g. 12h or 30d, or an ISO 8601 day or time; by default 7d and the rest of that day in UTC',
    )
    .option(
      '--window <time>',
      'move the end up to the next whole 15m, 1h, 1d…, so that all that are signed in it are one url for caches',
      readWindow,
    )
    .option(...jsonOption)
    .action((url: string, flags: JsonOption & EndFlags & { key: string }) =>
      withKeys(open, terminal, { ...flags, signs: true }, async (admin, _actor, services) => {
        const { path, values } = readUnsigned(url);
        const service = await serviceAt(path, services);
        await refuseEffects(service);
        const exp = signedEnd(flags, admin.inputs, Date.now());
        const signed = await admin.signUrl(flags.key, { url, service, exp });
        const { expires_at } = await admin.key(flags.key);
        const until = new Date(exp * 1000).toISOString();
        const notes = [`It calls ${service} as ${flags.key} until ${until}, and nothing else:`];
        if (expires_at !== null && Date.parse(expires_at) < exp * 1000)
          notes.unshift(`The key expires at ${expires_at}, and the url with it.`);
        if (values.has('dryrun')) notes.unshift('It is a dry run: where that is true, it answers JSON.');
        const data = { url: signed, service, kid: flags.key, exp, expires_at: until };
        return { data, notes, result: signed };
      }),
    );
}

async function serviceAt(path: string, services: readonly string[]): Promise<string> {
  const service = helperAt(path, services);
  if (service !== undefined) return service;
  if (new RegExp(recipeScope).test(path.slice(1))) return path.slice(1);
  // Imported here, so that help need not wait for the search of the nearest path.
  const { noHelperAt } = await import('../plugins/discover.js');
  throw inputError([{ field: 'url', problem: noHelperAt(path, services) }]);
}

/** Reads the plugin's declaration in a separate thread. One that cannot be loaded is not refused: no gateway serves it. */
async function refuseEffects(service: string): Promise<void> {
  const [{ loadConfig }, { findPlugins }, { inspectPlugins }] = await Promise.all([
    import('../config.js'),
    import('../plugins/discover.js'),
    import('../plugins/inspect-plugins.js'),
  ]);
  const folders = [...loadConfig(process.env).pluginDirs];
  const { plugins } = await findPlugins(folders);
  const plugin = plugins.find(({ id }) => id === service);
  if (plugin === undefined) return;
  const data = { helperUrl: helperUrl(folders), timeoutMs: importTimeoutMs };
  const inspection = (await inspectPlugins([plugin], data)).get(plugin);
  const { effects } = inspection?.ok ? asSchema(inspection.exported.data) : {};
  if (effects === true) throw inputError([{ field: 'url', problem: noSignatureProblem(service) }]);
}

/** In seconds. */
const day = 86_400;

function readWindow(text: string): number {
  const seconds = parseDuration(text);
  if (!seconds || seconds > longestDays * day)
    throw new InvalidArgumentError(`It must be like 15m, 1h, 7d, at most ${longestDays}d.`);
  return seconds;
}

interface EndFlags {
  /** As it was typed: a time from now, or an ISO 8601 day or time. */
  expires?: string | undefined;
  /** In seconds. */
  window?: number | undefined;
}

/**
 * When a url that is signed at `now` (ms) ends, in whole seconds since 1970: by default after seven days, at the end of that day, so
 * that urls signed on one day are equal for caches. A `window` rounds any end up to its next multiple since 1970.
 */
function signedEnd({ expires, window }: EndFlags, inputs: Pick<KeyInputs, 'key'>, now: number): number {
  if (expires === undefined) return roundUp(now / 1000 + 7 * day, window ?? day);
  const given = { expires_at: parseExpiry(expires, now) };
  const { expires_at = '' } = requireValid(inputs.key.check(given));
  return roundUp((parseTime(expires_at) as number) / 1000, window ?? 1);
}

function roundUp(seconds: number, window: number): number {
  return Math.ceil(seconds / window) * window;
}
