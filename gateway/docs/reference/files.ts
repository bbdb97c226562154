import { type Asset, readAsset } from '../../http/assets.js';

/** The path below which the files of the page are served. */
export const folder = '/docs/assets';

/** Own files are served as they lie in the source tree; the compiler leaves them there. */
const own = new URL('gateway/docs/reference/assets/', import.meta.resolve('helper-gateway/package.json'));

/** The files of the page by their names. */
export type ReferenceFiles = ReturnType<typeof readFiles>;

/** Reads them; the build has copied swagger-ui's from its package. */
export function readFiles() {
  const folder = new URL('dist/assets/swagger-ui-dist/', import.meta.resolve('helper-gateway/package.json'));
  const ofSwagger = (name: string): Asset => readAsset(new URL(name, folder));
  return {
    'swagger-ui.css': ofSwagger('swagger-ui.css'),
    'swagger-ui-bundle.js': ofSwagger('swagger-ui-bundle.js'),
    'reference.css': readAsset(new URL('reference.css', own)),
    'reference.js': readAsset(new URL('reference.js', own)),
    'icon.png': ofSwagger('favicon-32x32.png'),
  };
}
