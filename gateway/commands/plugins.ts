import { resolve } from 'node:path';
import type { Command } from 'commander';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import { GatewayError } from '../errors.js';
import { loadRegistry, PluginError, type Registry } from '../registry.js';
import { answer, type Terminal } from './output.js';

/** `plugins check DIR`: says about a folder of plugins what the gateway's start would say, without starting it. */
export function registerPluginCommands(program: Command, terminal: Terminal): void {
  const plugins = program.command('plugins').description('Work on helper plugins.');
  plugins
    .command('check <dir>')
    .description('Load every plugin in a folder and say what is wrong, without starting the gateway.')
    .option('--json', 'print JSON')
    .action(async (dir: string, { json }: { json?: boolean }) => {
      const checked = await check(resolve(dir));
      if (checked instanceof PluginError && !json) {
        terminal.stderr.write(`${checked.message}\n`);
        terminal.setExitCode(1);
        return;
      }
      await answer(terminal, json === true, async () => {
        if (checked instanceof PluginError) throw asInvalidInput(checked);
        return { data: { plugins: list(checked) }, result: report(checked) };
      });
    });
}

async function check(folder: string): Promise<Registry | PluginError> {
  try {
    return await loadRegistry([folder], createVocabulary());
  } catch (error) {
    if (error instanceof PluginError) return error;
    throw error;
  }
}

function asInvalidInput({ problems }: PluginError): GatewayError {
  const details = problems.map(({ file, reason }) => ({ field: file, problem: reason }));
  return new GatewayError('invalid_input', {
    message: 'Not every plugin can be served; see details.',
    details,
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
  const width = Math.max(...[...registry.keys()].map((id) => id.length));
  const lines = [...registry.values()].map(
    ({ id, declaration }) => `  /${id.padEnd(width)}  ${declaration.summary}`,
  );
  return [`${registry.size === 1 ? '1 plugin is' : `${registry.size} plugins are`} fine:`, ...lines].join(
    '\n',
  );
}
