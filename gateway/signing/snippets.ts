import { readFileSync } from 'node:fs';

/** They lie in the source tree; the compiler leaves them there. */
const folder = new URL('gateway/signing/snippets/', import.meta.resolve('helper-gateway/package.json'));
const languages = { 'Node.js': 'mjs', Python: 'py', PHP: 'php', Go: 'go', Ruby: 'rb' };

let loaded: ReturnType<typeof readSnippets> | undefined;

/** How a url is signed in five languages, with nothing but what comes with each. */
export function snippets() {
  loaded ??= readSnippets();
  return loaded;
}

function readSnippets() {
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
