/** A module in a plugin folder. */
export interface ModuleFile {
  file: string;
  /** The name without its ending. */
  stem: string;
  /** Why it is not loaded, and what to do, for its author. */
  refused?: string;
}

const loadable = /\.(?:[cm]?js|m?ts)$/;
const modules = /\.(?:[cm]?[jt]s|[jt]sx)$/i;
const leftAlone = /^[._]|^node_modules$|\.test\.[^.]+$|\.d\.[cm]?ts$/;

/** Whether a file or folder of this name is no plugin and holds none: `_shared`, `.git`, `x.test.js`, `x.d.ts`, node_modules. */
export function isLeftAlone(name: string): boolean {
  return leftAlone.test(name);
}

/**
 * The modules among a folder's files. One that cannot be loaded is refused by name, for to be ignored without a word costs its
 * author an hour; but a source gives way to what was compiled of it (`x.ts` to `x.js`, `x.mts` to `x.mjs`), and what cannot be
 * loaded to what can. Of several that are left of one name none is meant more than the others: each is refused.
 */
export function modulesAmong(files: readonly string[]): ModuleFile[] {
  const found = files.filter((file) => modules.test(file)).map((file) => ({ file, stem: stemOf(file) }));
  return found.flatMap((module) => {
    const others = found.filter(({ file, stem }) => stem === module.stem && file !== module.file);
    const rivals = others.map(({ file }) => file).filter((file) => loadable.test(file));
    if (!loadable.test(module.file)) {
      return rivals.length > 0 ? [] : [{ ...module, refused: unloadable(module) }];
    }
    if (isSource(module.file, rivals)) return [];
    const equals = rivals.filter((file) => !isSource(file, [module.file, ...rivals]));
    return [equals.length > 0 ? { ...module, refused: ambiguous(module, equals) } : module];
  });
}

/** Whether what was compiled of a source is among these files. */
function isSource(file: string, files: readonly string[]): boolean {
  return file.endsWith('ts') && files.includes(file.replace(/ts$/, 'js'));
}

function stemOf(file: string): string {
  return file.replace(modules, '');
}

const otherwise = 'or begin its name with "_" if it is no plugin';

function ambiguous({ file, stem }: ModuleFile, others: readonly string[]): string {
  const beside = others.join(' and ');
  return `lies beside ${beside}, and only one of them can be ${stem}: keep ${[file, ...others].sort().join(' or ')} (${otherwise})`;
}

function unloadable({ file, stem }: ModuleFile): string {
  const ending = file.slice(stem.length).toLowerCase();
  return `is not loaded with this ending: ${remedyFor(ending, stem)} (${otherwise})`;
}

function remedyFor(ending: string, stem: string): string {
  if (loadable.test(ending)) return `rename it to ${stem}${ending}`;
  if (ending === '.cts') return `write an ES module, ${stem}.mts`;
  return `compile it to ${stem}.js first`;
}
