import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { makeFolder, writeProblem } from '../file-system.js';
import { version } from '../plugins/paths.js';
import { bin, exitSoon, quoteWord, reserveStdout } from './process.js';

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
      if (folder !== undefined) {
        await makeFolder(folder).catch((error) => {
          const reason = writeProblem(error, folder, folder);
          throw new Error(`--out cannot be written to: ${reason}`, { cause: error });
        });
      }
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

async function readableFolder(folder: string): Promise<string> {
  const about = await stat(folder).catch(() => undefined);
  if (!about?.isDirectory()) throw new Error(`--files must name a folder that exists, but names ${folder}`);
  return realpath(folder);
}

/** What a client's settings have to hold, with this checkout's own path. */
function setup(): string {
  const server = { command: 'node', args: [bin, 'mcp'] };
  return `
No key is needed: its only user is the one who starts it. HELPER_PLUGINS names more folders of helpers.

Claude Desktop, Cursor (mcpServers in claude_desktop_config.json, .cursor/mcp.json):
  ${JSON.stringify({ mcpServers: { helpers: server } })}
VS Code (.vscode/mcp.json):
  ${JSON.stringify({ servers: { helpers: { type: 'stdio', ...server } } })}
Claude Code:
  claude mcp add helpers -- node ${server.args.map(quoteWord).join(' ')}
`;
}
