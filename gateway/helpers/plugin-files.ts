/** A module in a plugin folder. */
export interface ModuleFile {
  file: string;
  /** The name without its ending. */
  stem: string;
  /** Why it is not loaded, and what to do, for its author. */
  refused?: string;
}

const loadable = /\.m?js$/;
const modules = /\.(?:[cm]?[jt]s|[jt]sx)$/i;
const leftAlone = /^[._]|^node_modules$|\.test\.[^.]+$|\.d\.[cm]?ts$/;

/** Whether a file or folder of this name is no plugin and holds none: `_shared`, `.git`, `x.test.js`, `x.d.ts`, node_modules. */
export function isLeftAlone(name: string): boolean {
  return leftAlone.test(name);
}

/**
 * The modules among a folder's files. One that cannot be loaded is refused by name, for to be ignored without a word costs its
 * author an hour; but not beside what was made of it, `x.ts` beside `x.js`.
 */
export function modulesAmong(files: readonly string[]): ModuleFile[] {
  const found = files.filter((file) => modules.test(file)).map((file) => ({ file, stem: stemOf(file) }));
  const plugins = new Set(found.filter(({ file }) => loadable.test(file)).map(({ stem }) => stem));
  return found.flatMap((module): ModuleFile[] => {
    if (loadable.test(module.file)) return [module];
    return plugins.has(module.stem) ? [] : [{ ...module, refused: reasonOf(module) }];
  });
}

function stemOf(file: string): string {
  return file.replace(modules, '');
}

function reasonOf({ file, stem }: ModuleFile): string {
  const ending = file.slice(stem.length).toLowerCase();
  return `is not loaded with this ending: ${remedyFor(ending, stem)} (or begin its name with "_" if it is no plugin)`;
}

function remedyFor(ending: string, stem: string): string {
  if (loadable.test(ending)) return `rename it to ${stem}${ending}`;
  if (ending === '.cjs') return `write an ES module, ${stem}.mjs`;
  return `compile it to ${stem}.${ending === '.mts' ? 'mjs' : 'js'} first`;
}
