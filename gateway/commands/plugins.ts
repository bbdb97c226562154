import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import { loadRegistry, PluginError, type Registry } from '../registry.js';

/** `plugins check DIR`: says about a folder of plugins what the gateway's start would say, without starting it. */
export function registerPluginCommands(program: Command): void {
  const plugins = program.command('plugins').description('work on helper plugins');
  plugins
    .command('check <dir>')
    .description('load every plugin in a folder and say what is wrong, without starting the gateway')
    .option('--json', 'print JSON')
    .action(async (dir: string, { json }: { json?: boolean }) => {
      try {
        const registry = await loadRegistry([resolve(dir)], createVocabulary());
        console.log(
          json ? JSON.stringify({ ok: true, data: { plugins: list(registry) } }) : report(registry),
        );
      } catch (error) {
        if (!(error instanceof PluginError)) throw error;
        if (json) console.log(JSON.stringify({ ok: false, problems: error.problems }));
        else console.error(error.message);
        process.exitCode = 1;
      }
    });
}

function list(registry: Registry): object[] {
  return [...registry.values()].map(({ id, file, declaration }) => ({
    id,
    file,
    summary: declaration.summary,
  }));
}

function report(registry: Registry): string {
  if (registry.size === 0)
    return 'No plugins here: a plugin is <route>.js or <route>/index.js below this folder.';
  const lines = [...registry.values()].map(({ id, declaration }) => `  /${id}  ${declaration.summary}`);
  return [`${registry.size === 1 ? '1 plugin is' : `${registry.size} plugins are`} fine:`, ...lines].join(
    '\n',
  );
}
