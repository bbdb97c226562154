/** A module in a plugin folder. */
export interface ModuleFile {
  file: string;
  /** The name without its ending. */
  stem: string;
  /** Why it is not loaded, and what to do, for its author. */
  refused?: string;
}

/** What is loaded. A source in TypeScript gives way to what it was compiled to. */
const loadable = [/\.m?js$/, /\.m?ts$/];
const modules = /\.(?:[cm]?[jt]s|[jt]sx)$/i;
const leftAlone = /^[._]|^node_modules$|\.test\.[^.]+$|\.d\.[cm]?ts$/;

/** Whether a file or folder of this name is no plugin and holds none: `_shared`, `.git`, `x.test.js`, `x.d.ts`, node_modules. */
export function isLeftAlone(name: string): boolean {
  return leftAlone.test(name);
}

/**
 * The modules among a folder's files. One that cannot be loaded is refused by name, for to be ignored without a word costs its
 * author an hour; but of several with one name the best is meant: `x.js` was made of the `x.ts` or the `x.tsx` beside it.
 */
export function modulesAmong(files: readonly string[]): ModuleFile[] {
  const found = files.filter((file) => modules.test(file)).map((file) => ({ file, stem: stemOf(file) }));
  const best = new Map<string, number>();
  for (const { file, stem } of found) best.set(stem, Math.min(rankOf(file), best.get(stem) ?? unloadable));
  return found
    .filter(({ file, stem }) => rankOf(file) === best.get(stem))
    .map((module) => (rankOf(module.file) < unloadable ? module : { ...module, refused: reasonOf(module) }));
}

const unloadable = loadable.length;

function rankOf(file: string): number {
  const rank = loadable.findIndex((ending) => ending.test(file));
  return rank < 0 ? unloadable : rank;
}

function stemOf(file: string): string {
  return file.replace(modules, '');
}

function reasonOf({ file, stem }: ModuleFile): string {
  const ending = file.slice(stem.length).toLowerCase();
  return `is not loaded with this ending: ${remedyFor(ending, stem)} (or begin its name with "_" if it is no plugin)`;
}

function remedyFor(ending: string, stem: string): string {
  if (rankOf(ending) < unloadable) return `rename it to ${stem}${ending}`;
  if (ending === '.cjs') return `write an ES module, ${stem}.mjs`;
  if (ending === '.cts') return `write an ES module, ${stem}.mts`;
  return `compile it to ${stem}.js first`;
}
