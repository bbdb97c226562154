/** A file that a folder of plugins gets where it has none: its name, and what it is known again by. */
export interface FolderFile {
  name: string;
  mark: string;
}

export const packageFile: FolderFile = { name: 'package.json', mark: 'plugins test .' };
export const editorFile: FolderFile = { name: 'tsconfig.json', mark: 'helper-gateway/testing' };

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

/** What an editor completes and checks by, JavaScript too. It names this installation, so that there need be no node_modules. */
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
