// Copies what the product reads as files out of packages, with their licences, into dist/assets/<package>/: who installs the product
// needs none of these packages, of which it uses a tenth or less.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const assets = {
  '@jsquash/avif': ['LICENSE', 'codec/dec/avif_dec.wasm'],
  '@jsquash/webp': [
    'LICENSE',
    'codec/LICENSE.codec.md',
    'codec/dec/webp_dec.wasm',
    'codec/enc/webp_enc.wasm',
    'codec/enc/webp_enc_simd.wasm',
  ],
  'color-name-list': ['LICENSE'],
  'dejavu-fonts-ttf': ['LICENSE', 'ttf/DejaVuSans.ttf'],
  'swagger-ui-dist': [
    'LICENSE',
    'NOTICE',
    'swagger-ui-bundle.js',
    'swagger-ui-bundle.js.LICENSE.txt',
    'swagger-ui.css',
  ],
};

export function copyAssets(root) {
  const packages = join(root, 'node_modules');
  const target = join(root, 'dist', 'assets');
  for (const [name, files] of Object.entries(assets)) {
    mkdirSync(join(target, name), { recursive: true });
    for (const file of files) copyFileSync(join(packages, name, file), join(target, name, basename(file)));
  }
  // That package names what its codec is made of, without those licences.
  copyFileSync(join(root, '.build/avif-codec.LICENSE.md'), join(target, '@jsquash/avif/LICENSE.codec.md'));
  // Each name with its colour, in the list's order; the package holds it in twelve forms.
  const colors = JSON.parse(readFileSync(join(packages, 'color-name-list/dist/colornames.json'), 'utf8'));
  const list = colors.map(({ name, hex }) => [name, hex]);
  writeFileSync(join(target, 'color-name-list', 'colors.json'), JSON.stringify(list));
}
