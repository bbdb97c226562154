import { realpath, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { makeFolder, writeProblem } from '../file-system.js';
import { version } from '../plugins/paths.js';
import { exitSoon, quoteWord, reserveStdout } from './process.js';

const require = createRequire(import.meta.url);

/** `mcp`: the helpers as tools for one agent, which starts this process and speaks on its standard streams. */
export function registerMcp(program: Command): void {
  program
    .command('mcp')
    .description('Serve the helpers as tools to an agent, on standard input and output (MCP).')
    .option('--out <dir>', 'write pictures and other files that helpers answer there, whole')
    .option('--files <dir>', 'let the agent name files in this folder and below by their paths')
    .addHelpText('after', setup)
    .action(async ({ out, files }: { out?: string; files?: string }) => {
      // Imported here, because they would delay every other command and help.
      const { loadConfig } = await import('../config.js');
      const { openStderrLog } = await import('../observability/log.js');
      const config = loadConfig(process.env);
      const stdout = reserveStdout();
      const logger = openStderrLog(config.logLevel);
      const folder = out === undefined ? undefined : resolve(out);
      if (folder !== undefined) await makeOut(folder);
      const readable = files === undefined ? undefined : await readableFolder(resolve(files));
      const [{ openLocalHelpers }, { createLocalTools }, { serveTools }] = await Promise.all([
        import('./open-local.js'),
        import('../mcp/local-tools.js'),
        import('../mcp/serve-stdio.js'),
      ]);
      const helpers = await openLocalHelpers(config, logger);
      if (process.stdin.isTTY)
        console.error('Waiting for an agent on standard input; --help says how to add one.');
      try {
        const tools = createLocalTools({
          helpers,
          out: folder,
          files: readable === undefined ? undefined : { folder: readable, maxBytes: config.maxImageBytes },
          logger,
        });
        const { maxTextBytes } = config;
        const onError = (error: Error) => logger.warn({ err: error }, 'message not answered');
        await serveTools({ version, tools, stdin: process.stdin, stdout, maxTextBytes, onError });
      } finally {
        await helpers.close();
        exitSoon();
      }
    });
}

async function makeOut(folder: string): Promise<void> {
  await makeFolder(folder).catch((error) => {
    throw new Error(`--out cannot be written to: ${writeProblem(error, folder, folder)}`, { cause: error });
  });
}

async function readableFolder(folder: string): Promise<string> {
  const about = await stat(folder).catch(() => undefined);
  if (!about?.isDirectory()) throw new Error(`--files must name a folder that exists, but names ${folder}`);
  return realpath(folder);
}

/** What a client's settings have to hold, with this checkout's own path. */
function setup(): string {
  const server = { command: 'node', args: [join(gatewayFolder(), 'bin.cjs'), 'mcp'] };
  return `
No key is needed: whoever starts it is its only user. HELPER_PLUGINS names more folders of helpers.

Claude Desktop, Cursor (mcpServers in claude_desktop_config.json, .cursor/mcp.json):
  ${JSON.stringify({ mcpServers: { helpers: server } })}
VS Code (.vscode/mcp.json):
  ${JSON.stringify({ servers: { helpers: { type: 'stdio', ...server } } })}
Claude Code:
  claude mcp add helpers -- node ${server.args.map(quoteWord).join(' ')}
`;
}

/** The sources' folder, where the command lies, and not that of what is built of it. */
function gatewayFolder(): string {
  return join(dirname(require.resolve('helper-gateway/package.json')), 'gateway');
}
