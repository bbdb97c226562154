import { readFileSync } from 'node:fs';

/** How a url is signed in one language, with nothing but what comes with it. */
export type Snippet = ReturnType<typeof snippets>[number];

/** They lie in the source tree; the compiler leaves them there. */
const folder = new URL('gateway/signing/snippets/', import.meta.resolve('helper-gateway/package.json'));
const languages = { 'Node.js': 'mjs', Python: 'py', PHP: 'php', Go: 'go', Ruby: 'rb' };

/** How a url is signed in five languages. */
export function snippets() {
  return Object.entries(languages).map(([language, ending]) => {
    const read = (name: string) => readFileSync(new URL(`${name}.${ending}`, folder), 'utf8');
    const program = read('main');
    return {
      language,
      file: `sign.${ending}`,
      code: read('sign'),
      /** A program beside it, for a percent-encoded address; the secret comes from the environment. */
      call: (address: string, keyId: string) =>
        program.replaceAll('{{address}}', () => address).replaceAll('{{key_id}}', () => keyId),
    };
  });
}
