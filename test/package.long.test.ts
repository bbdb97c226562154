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

  it('holds the bundle as the last build wrote it, and no more than is worth installing', () => {
    const { files } = JSON.parse(readFileSync(`${root}/dist/bundle/built.json`, 'utf8')) as {
      files: string[];
    };
    const built = files.map((file) => `dist/bundle/${file}`);
    expect(packed.filter((file) => /^dist\/bundle\/.*\.js(\.map)?$/.test(file))).to.have.members(built);
    expect(packed).to.include.members(['dist/bundle/LICENSES.txt', 'dist/types/gateway/helper.d.ts']);
    expect(packed.length).to.be.at.most(600);
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

  it('brings what it reads out of packages that are not installed with it, with their licences', () => {
    const brought = {
      'color-name-list': ['LICENSE', 'colors.json'],
      'dejavu-fonts-ttf': ['LICENSE', 'DejaVuSans.ttf'],
      'swagger-ui-dist': ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt'],
    };
    for (const [name, files] of Object.entries(brought)) {
      expect(packed).to.include.members(files.map((file) => `dist/assets/${name}/${file}`));
    }
    expect(packed.filter((file) => file.includes('node_modules/@scarf'))).to.deep.equal([]);
  });

  it('brings nothing along that npm would install, and licences of what its bundle holds', () => {
    expect(packed.filter((file) => file.startsWith('node_modules/'))).to.deep.equal([]);
    const licences = readFileSync(`${root}/dist/bundle/LICENSES.txt`, 'utf8');
    for (const name of ['koa', 'undici', 'better-auth', 'bullmq', 'kysely']) {
      expect(licences).to.match(new RegExp(`^${name} \\d.*: MIT\n\n.*`, 'm'));
    }
  });

  it('holds no sources, tests or notes of the build', () => {
    const strays = packed.filter(
      (file) =>
        /^(test|dist\/test|\.)|built\.json$|tsbuildinfo|\.tsx$/.test(file) || /(?<!\.d)\.ts$/.test(file),
    );
    expect(strays).to.deep.equal([]);
  });
});
