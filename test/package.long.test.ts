import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { readText, root } from './readme.js';

/** What lies in a folder, by its path from the root. */
function below(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
}

const read = (name: string) => JSON.parse(readText(name));

describe('the package', () => {
  let packed: string[];
  before(() => {
    const args = ['pack', '--dry-run', '--ignore-scripts', '--json', '--silent'];
    const answer = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })) as object;
    // npm has answered with a list, and with an object by name.
    const [{ files }] = Object.values(answer) as [{ files: { path: string }[] }];
    packed = files.map(({ path }) => path);
  });

  it('holds the bundle as the last build wrote it, and no more than is worth installing', () => {
    const { files } = read('dist/bundle/built.json') as { files: string[] };
    const built = files.map((file) => `dist/bundle/${file}`);
    expect(packed.filter((file) => /^dist\/bundle\/.*\.js(\.map)?$/.test(file))).to.have.members(built);
    expect(packed).to.include.members(['dist/bundle/LICENSES.txt', 'dist/types/gateway/helper.d.ts']);
    expect(packed.length).to.be.at.most(600);
  });

  it('holds what the product reads beside its modules, and its pages', () => {
    const others = ['gateway', 'plugins', 'pool', 'schemas'].flatMap(below);
    const beside = others.filter((file) => !/\.tsx?$|\/asconfig\.json$/.test(file));
    expect(beside).to.include.members(['gateway/bin.cjs', 'pool/image/png/wasm/packer.wasm']);
    expect(packed).to.include.members([...beside, 'README.md', 'LICENSE', 'package.json']);
  });

  it('holds each module that it lets others import, with its types', () => {
    const exports: Record<string, string | Record<string, string>> = read('package.json').exports;
    const targets = Object.values(exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    );
    expect(packed).to.include.members(targets.map((target) => target.replace('./', '')));
  });

  it('has nothing run where it is installed, which npm would ask its user about', () => {
    const { scripts } = read('package.json');
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
    const licences = readText('dist/bundle/LICENSES.txt');
    for (const name of ['koa', 'undici', 'openid-client', 'bullmq', 'kysely'])
      expect(licences).to.match(new RegExp(`^${name} \\d.*: MIT\n\n.*`, 'm'));
  });

  it('holds no sources, tests or notes of the build', () => {
    const stray = /^(test|dist\/test|\.)|built\.json$|tsbuildinfo|\.tsx$|(?<!\.d)\.ts$/;
    expect(packed.filter((file) => stray.test(file))).to.deep.equal([]);
  });
});
