import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const text = `{ type: 'object', required: ['to'], properties: { to: { type: 'string', maxLength: 100, description: 'To whom.' } } }`;

const notifies = (calls: string, more: string) => `import { appendFileSync } from 'node:fs';
    export default { summary: 'Notifies.', effects: true, ${more} input: ${text}, examples: [{ input: { to: 'example' } }],
      handler: ({ to }) => { appendFileSync(${JSON.stringify(calls)}, to + '\\n'); return { to }; } };`;

/** Each call that is made leaves a line. */
const helpers = (calls: string) => ({
  'act/notify.mjs': notifies(calls, ''),
  'act/short.mjs': notifies(calls, 'idempotent: true, inline: () => true,'),
  'act/stamp.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Stamps.', effects: true, source: 'image', input: { type: 'object', properties: {} },
      handler: (_, { image }) => { appendFileSync(${JSON.stringify(calls)}, 'stamp\\n'); return image.encode('png'); } };`,
});

export type EffectHelpers = Awaited<ReturnType<typeof writeEffectHelpers>>;

/** Writes them into a folder; gives where they are, and the calls that were made since the last `forgetCalls`. */
export async function writeEffectHelpers(folder: string) {
  const plugins = join(folder, 'plugins');
  await mkdir(join(plugins, 'act'), { recursive: true });
  for (const [file, code] of Object.entries(helpers(join(folder, 'calls')))) {
    await writeFile(join(plugins, file), code);
  }
  const calls = async () =>
    (await readFile(join(folder, 'calls'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
  return { plugins, calls, forgetCalls: () => rm(join(folder, 'calls'), { force: true }) };
}
