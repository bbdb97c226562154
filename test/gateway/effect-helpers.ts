import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const text = `{ type: 'object', required: ['to'], properties: { to: { type: 'string', maxLength: 100, description: 'To whom.' } } }`;

/** Each call that is made leaves a line. */
const helpers = (calls: string) => ({
  'act/notify.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Notifies.', effects: true, input: ${text}, examples: [{ input: { to: 'example' } }],
      handler: ({ to }) => { appendFileSync(${JSON.stringify(calls)}, to + '\\n'); return { to }; } };`,
  'act/short.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Notifies soon.', effects: true, idempotent: true, input: ${text}, inline: () => true,
      examples: [{ input: { to: 'example' } }],
      handler: ({ to }) => { appendFileSync(${JSON.stringify(calls)}, to + '\\n'); return { to }; } };`,
  'act/stamp.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Stamps.', effects: true, source: 'image', input: { type: 'object', properties: {} },
      handler: (_, { image }) => { appendFileSync(${JSON.stringify(calls)}, 'stamp\\n'); return image.encode('png'); } };`,
});

/** Where they are, and the calls that were made. */
export interface EffectHelpers {
  plugins: string;
  calls(): Promise<string[]>;
  /** From now on there were none. */
  forgetCalls(): Promise<void>;
}

/** Writes them into a folder. */
export async function writeEffectHelpers(folder: string): Promise<EffectHelpers> {
  const plugins = join(folder, 'plugins');
  await mkdir(join(plugins, 'act'), { recursive: true });
  for (const [file, code] of Object.entries(helpers(join(folder, 'calls')))) {
    await writeFile(join(plugins, file), code);
  }
  const calls = async () =>
    (await readFile(join(folder, 'calls'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
  return { plugins, calls, forgetCalls: () => rm(join(folder, 'calls'), { force: true }) };
}
