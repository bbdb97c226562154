/** What the text of a new plugin depends on. */
interface PluginNames {
  /** The route, `text/shout`. */
  route: string;
  /** The plugin's file as its test names it, `./shout.mjs`. */
  file: string;
  typescript: boolean;
}

/** A small helper that works, explained by its comments. */
export function pluginText({ route, typescript }: PluginNames): string {
  return `${typescript ? '' : '// @ts-check\n'}import { defineHelper } from 'helper-gateway/helper';

// Served at /${route}, by GET and POST. What is declared here is all that the gateway needs to check what callers send, to document
// it, and to offer it as a command and to agents.
export default defineHelper({
  // One sentence, for people and agents who choose a helper.
  summary: 'Repeats a text.',

  // Where a call changes something elsewhere (it sends, books, deletes): effects: true. It is called by POST alone then, and never cached.

  // A JSON Schema: each property is a parameter. What does not fit is refused, with the field's name, before the handler is asked.
  // Beside JSON Schema's keywords there are color, choice, fraction, measure, drawable, encodable and onlyWith.
  input: {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string', minLength: 1, maxLength: 1000, description: 'What is repeated.' },
      times: { type: 'integer', minimum: 1, maximum: 10, default: 2, description: 'How often.' },
      between: { type: 'string', maxLength: 20, default: ' ', description: 'Stands between them.' },
    },
  },

  // What the answer's \`data\` looks like: documentation for callers, and what tests check answers by.
  output: {
    type: 'object',
    required: ['text'],
    properties: { text: { type: 'string' } },
  },

  // Shown wherever the helper is, and run by "plugins test".
  examples: [{ summary: 'Three times', input: { text: 'hello', times: 3, between: ', ' } }],

  // Runs in a worker thread: it may compute for as long as it needs. The input is as the schema says, defaults included.
  // Its second argument brings more: log, fetch, signal, and whatever \`files\`, \`config\` or \`setup\` declare.
  handler({ text, times, between }) {
    return { text: Array.from({ length: times }, () => text).join(between) };
  },
});
`;
}

/** A test of it, for Node's own runner. */
export function testText({ file, typescript }: PluginNames): string {
  return `${typescript ? '' : '// @ts-check\n'}import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from 'helper-gateway/testing';
import helper from '${file}';

// Run by "npm test". \`call\` checks input and answer as the gateway does, in this process.
test('repeats the text', async () => {
  assert.deepEqual(await call(helper, { text: 'so', between: '-' }), { text: 'so-so' });
});

test('refuses a text that is empty', async () => {
  await assert.rejects(call(helper, { text: '' }), { code: 'invalid_input' });
});
`;
}

/** Files that a folder of plugins gets where it lacks them; `mark` is a text by which they are recognised. */
export const packageFile = { name: 'package.json', mark: 'plugins test .' };
export const editorFile = { name: 'tsconfig.json', mark: 'helper-gateway/testing' };

/** Paths of this installation, as the folder names them. */
export interface Installed {
  /** The command line's script. */
  bin: string;
  /** The public modules' types, without their endings. */
  modules: string;
  /** The folder of packages of types that has Node's, where it is installed. */
  typeRoot?: string | undefined;
}

/** What makes it a folder of ES modules with a test command; nothing has to be installed for either. */
export function packageText({ bin }: Installed, name: string): string {
  const content = {
    name,
    private: true,
    type: 'module',
    scripts: { test: `node ${/^[\w./@+-]+$/.test(bin) ? bin : JSON.stringify(bin)} ${packageFile.mark}` },
  };
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

/** Settings for editors, for JavaScript too. They name this installation, so that no node_modules is needed. */
export function editorText({ modules, typeRoot }: Installed): string {
  const content = {
    compilerOptions: {
      target: 'es2023',
      lib: ['es2023'],
      module: 'nodenext',
      // Tests of plugins import Node's own modules.
      ...(typeRoot === undefined ? { types: [] } : { types: ['node'], typeRoots: [typeRoot] }),
      strict: true,
      noEmit: true,
      allowJs: true,
      checkJs: true,
      allowImportingTsExtensions: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
      paths: {
        'helper-gateway/helper': [`${modules}/helper.d.ts`],
        [editorFile.mark]: [`${modules}/testing.d.ts`],
      },
    },
    exclude: ['node_modules'],
  };
  const why = `// For editors and "tsc" alone: plugins run as they are, TypeScript too. "paths" leads to the gateway's types.`;
  return `${why}\n${JSON.stringify(content, undefined, 2)}\n`;
}
