import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Packed {
  files: { path: string }[];
}

/** What the tarball would hold. npm has answered with a list, and with an object by name. */
function listPacked(): string[] {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json', '--silent'];
  const answer = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })) as object;
  const [packed] = Object.values(answer) as Packed[];
  return (packed as Packed).files.map(({ path }) => path);
}

/** What lies in a folder, by its path from the root. */
function below(folder: string): string[] {
  const names = readdirSync(`${root}/${folder}`, { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(root.length).replace(/^\//, ''));
}

describe('the package', () => {
  let packed: string[];
  before(() => {
    packed = listPacked();
  });

  it('holds each module of the product as it was built', () => {
    const sources = ['gateway', 'plugins', 'pool', 'schemas'].flatMap(below);
    const modules = sources.filter((file) => /\.tsx?$/.test(file) && !file.includes('/wasm/'));
    const built = modules.map((file) => `dist/${file.replace(/\.tsx?$/, '.js')}`);
    expect(packed).to.include.members(built).and.include('dist/gateway/helper.d.ts');
  });

  it('holds what the product reads beside its modules, and its pages', () => {
    const others = ['gateway', 'plugins', 'pool', 'schemas'].flatMap(below);
    const read = others.filter((file) => !/\.tsx?$|\/asconfig\.json$/.test(file));
    expect(read).to.include.members(['gateway/bin.cjs', 'pool/image/png/wasm/packer.wasm']);
    expect(packed).to.include.members([...read, 'README.md', 'LICENSE', 'package.json']);
  });

  it('holds each module that it lets others import, with its types', () => {
    const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as {
      exports: Record<string, string | Record<string, string>>;
    };
    const targets = Object.values(exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    );
    expect(packed).to.include.members(targets.map((target) => target.replace('./', '')));
  });

  it('has nothing run where it is installed, which npm would ask its user about', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { scripts: object };
    // A tarball's "prepare" is not run, and named all the same. In a checkout "dependencies" builds after each "npm ci".
    expect(scripts).not.to.have.any.keys('preinstall', 'install', 'postinstall', 'prepublish', 'prepare');
    expect(scripts).to.include.keys('dependencies', 'prepack');
  });

  it('brings swagger-ui along, so that nothing that comes with it from elsewhere is installed', () => {
    const bundled = packed.filter((file) => file.startsWith('node_modules/'));
    expect(bundled).to.include.members([
      'node_modules/swagger-ui-dist/swagger-ui-bundle.js',
      'node_modules/@scarf/scarf/package.json',
    ]);
    const { name, scripts } = JSON.parse(
      readFileSync(`${root}/node_modules/@scarf/scarf/package.json`, 'utf8'),
    ) as { name: string; scripts: object };
    expect(name).to.equal('empty-npm-package');
    expect(scripts).to.have.all.keys('test');
  });

  it('brings BullMQ along without the native part of its msgpackr, whose script npm would ask its user about', () => {
    const bundled = packed.filter((file) => file.startsWith('node_modules/'));
    expect(bundled).to.include.members([
      'node_modules/bullmq/dist/cjs/index.js',
      'node_modules/msgpackr/package.json',
      'node_modules/msgpackr-extract/package.json',
    ]);
    const scripted = bundled
      .filter((file) => file.endsWith('/package.json'))
      .map((file) => JSON.parse(readFileSync(`${root}/${file}`, 'utf8')) as { scripts?: object })
      .flatMap(({ scripts = {} }) => Object.keys(scripts))
      .filter((script) => ['preinstall', 'install', 'postinstall'].includes(script));
    expect(scripted).to.deep.equal([]);
  });

  it('holds no sources, tests, maps or notes of the compiler', () => {
    const own = packed.filter((file) => !file.startsWith('node_modules/'));
    const strays = own.filter(
      (file) => /^(test|dist\/test|\.)|\.map$|tsbuildinfo|\.tsx$/.test(file) || /(?<!\.d)\.ts$/.test(file),
    );
    expect(strays).to.deep.equal([]);
  });
});
